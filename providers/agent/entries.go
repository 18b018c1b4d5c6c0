package agent

import (
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// entryRecorder adds entries to the conversation and reports them with the thread that ends with them.
// own is the agent's own id of the conversation, or empty if the agent does not have the entry yet: then
// the thread is empty, too. The mutex of the session guards it.
type entryRecorder struct {
	out    *outbox
	digest digest // of all entries
}

// add adds an entry of a turn.
func (r *entryRecorder) add(turn, own string, role providers.Role, blocks ...providers.Block) {
	e := providers.Entry{Role: role, Turn: turn, Blocks: blocks}
	r.report(&e, own, nil)
}

// addMessage adds a message of the user as an entry, and reports that the agent takes it.
func (r *entryRecorder) addMessage(turn, own string, m providers.Message) providers.Entry {
	e := providers.Entry{Role: providers.RoleUser, Turn: turn}
	if strings.TrimSpace(m.Text) != "" {
		e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockText, Text: m.Text, Origin: m.Origin()})
	}
	for _, i := range m.Images {
		e.Blocks = append(e.Blocks, providers.Block{Kind: providers.BlockImage, Image: &i, Origin: m.Origin()})
	}
	r.report(&e, own, []string{m.ID})
	r.out.push(&providers.Event{Kind: providers.EventTaken, Message: m.ID}, nil)
	return e
}

// report reports an entry and the messages that it contains.
func (r *entryRecorder) report(e *providers.Entry, own string, messages []string) {
	all := []providers.Entry{*e}
	r.digest.add(all)
	r.out.push(&providers.Event{
		Kind: providers.EventEntries, Message: e.Turn, Entries: all, EntryMessages: messages, Thread: threadID(own, r.digest),
	}, nil)
}
