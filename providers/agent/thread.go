package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// digestMark separates the agent's own id from the digest of the conversation.
const digestMark = "~"

// digest summarizes the texts and the tool calls of a conversation. Results, images and thinking do
// not count: the hub changes or leaves out some of them when it stores a conversation.
type digest struct{ sum hash.Hash }

func newDigest(entries []providers.Entry) digest {
	d := digest{sha256.New()}
	d.add(entries)
	return d
}

func (d digest) add(entries []providers.Entry) {
	for _, e := range entries {
		for _, b := range e.Blocks {
			text := b.Text
			switch {
			case b.Kind == providers.BlockToolCall:
				text = b.Call
			case b.Kind != providers.BlockText || strings.TrimSpace(text) == "":
				continue
			}
			_, _ = io.WriteString(d.sum, string(e.Role)+" "+string(b.Kind)+" "+strconv.Itoa(len(text))+" "+text) // a hash never fails
		}
	}
}

// String returns the digest as text.
func (d digest) String() string { return hex.EncodeToString(d.sum.Sum(nil)[:10]) }

// threadID returns the id of a thread for the hub.
func threadID(own string, d digest) string {
	if own == "" {
		return ""
	}
	return own + digestMark + d.String()
}

// ownThread returns the agent's own id of a conversation, if it is one of this provider and its
// texts are those that the agent has.
func ownThread(provider string, t providers.Thread) (string, bool) {
	at := strings.LastIndex(t.ID, digestMark)
	if at <= 0 || t.Provider != provider {
		return "", false
	}
	return t.ID[:at], t.ID[at+len(digestMark):] == newDigest(t.Entries).String()
}
