package acp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxMissedRows bounds the rows that are read beyond those of a state.
	maxMissedRows = 5000
	// rowsRetry is the pause before rows are requested again, at most rowsAttempts times: the hub may be restarting.
	rowsRetry    = time.Second
	rowsAttempts = 30
)

// snapshot takes the first state, or one that replaces events which the hub no longer has or which are too many.
func (o *openSession) snapshot(ctx context.Context, s *wire.SessionState) {
	rows := s.RecentMessages
	select {
	case <-o.started:
		rows = o.withOlderRows(ctx, rows)
		o.translator.restart(s, rows, false)
	default:
		o.translator.restart(s, rows, !o.replay)
		close(o.started)
	}
	o.endPrompts(s, rows)
}

// withOlderRows returns the rows of a state after those that the client may miss.
func (o *openSession) withOlderRows(ctx context.Context, rows []wire.UIRow) []wire.UIRow {
	first, read := o.firstMissing(), 0
	for len(rows) > 0 && rows[0].ID > first && read < maxMissedRows {
		older, hasMore, err := o.readRows(ctx, rows[0].ID)
		if err != nil {
			if ctx.Err() == nil {
				o.server.logf("session %s: reading the rows that were missed: %v", o.id, err)
				o.notice("Some messages of the last minutes could not be read. They are in the desktop.")
			}
			break
		}
		rows = slices.Concat(older, rows)
		if read += len(older); !hasMore || len(older) == 0 {
			break
		}
	}
	return rows
}

// firstMissing returns the id of the first row that the client may miss a part of. The row of a prompt that waits
// says later that the prompt was removed.
func (o *openSession) firstMissing() wire.RowID {
	first := o.translator.firstMissing()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.prompts {
		if p.agent == "" && p.row != 0 {
			first = min(first, p.row)
		}
	}
	return first
}

// mayPass reports whether a request may succeed later.
func mayPass(err error) bool {
	no, isRefused := errors.AsType[*remote.RefusedError](err)
	return !isRefused || no.Status == http.StatusTooManyRequests || no.Status >= http.StatusInternalServerError
}

// recordRow records the row of a prompt.
func (o *openSession) recordRow(row wire.UIRow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.prompts[row.MessageID]; p != nil && row.Say == wire.SayUserFeedback {
		p.row = row.ID
	}
}

// readRows reads a page of the rows before one, again while the hub cannot answer.
func (o *openSession) readRows(ctx context.Context, before wire.RowID) (rows []wire.UIRow, hasMore bool, err error) {
	target := o.server.hub.URL.JoinPath("api", "sessions", string(o.id), "rows")
	target.RawQuery = url.Values{"monitor": {string(monitor)}, "before": {strconv.FormatUint(uint64(before), 10)}}.Encode()
	for range rowsAttempts {
		var page struct {
			Rows []wire.UIRow `json:"rows"`
			More bool         `json:"more"`
		}
		if err = o.server.hub.Ask(ctx, http.MethodGet, target, nil, &page); err == nil || !mayPass(err) {
			return page.Rows, page.More, err
		}
		select {
		case <-time.After(rowsRetry):
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
	return nil, false, err
}

// notice sends a text that is no part of an answer, as thinking.
func (o *openSession) notice(text string) {
	o.send(update{Kind: updateThought, Content: textBlock(text)})
}

// endPrompts ends the prompts that have ended according to a state and its rows.
func (o *openSession) endPrompts(s *wire.SessionState, rows []wire.UIRow) {
	taken := map[wire.MessageID]bool{}
	for _, row := range rows {
		switch {
		case row.Say == wire.SayAPIReqFinished:
			o.endPrompt(endOfRow(row))
		case row.Say == wire.SayUserFeedback && isRefused(row):
			o.endPrompt(wire.AgentResponse{MessageID: row.MessageID, IsComplete: true, Outcome: wire.OutcomeInterrupted})
		case row.Say == wire.SayUserFeedback:
			taken[row.MessageID] = true
		}
	}
	o.endJoined(s, taken)
}

// isRefused reports whether the row of a user's message says that no agent gets the message.
func isRefused(row wire.UIRow) bool {
	return row.ProgressStatus != nil && row.ProgressStatus.Icon != "reply"
}

// endOfRow returns the end of a turn that its last row describes.
func endOfRow(row wire.UIRow) wire.AgentResponse {
	var end struct {
		Outcome wire.Outcome `json:"outcome"`
		Reason  string       `json:"reason"`
	}
	_ = json.Unmarshal([]byte(row.Text), &end) // an unknown outcome is success
	return wire.AgentResponse{MessageID: row.MessageID, IsComplete: true, Outcome: end.Outcome, Reason: end.Reason}
}

// endJoined ends the prompts that joined a turn which has ended: they have no row of their own about the end. taken
// are those that an agent has taken.
func (o *openSession) endJoined(s *wire.SessionState, taken map[wire.MessageID]bool) {
	running, main := map[wire.AgentID]bool{}, wire.AgentState{}
	for _, a := range s.Agents {
		if running[a.Role] = a.Status != wire.AgentStatusIdle; running[a.Role] && a.Kind == wire.AgentMain {
			main = a
		}
	}
	for _, queue := range s.Queues {
		for _, q := range queue.Value {
			delete(taken, q.ID)
		}
	}
	o.mu.Lock()
	var ended []wire.MessageID
	for id, p := range o.prompts {
		if p.agent == "" && taken[id] {
			if p.agent = agentOf(s, id); p.agent == "" {
				p.agent, p.hasJoined = main.Role, !o.own[main.MessageID]
			}
		}
		if p.agent != "" && !running[p.agent] || p.agent == "" && taken[id] {
			ended = append(ended, id)
		}
	}
	o.mu.Unlock()
	for _, id := range ended {
		o.endPrompt(wire.AgentResponse{MessageID: id, IsComplete: true, Outcome: wire.OutcomeCompleted})
	}
}

// agentOf returns the agent that executes the turn which a message began, or "".
func agentOf(s *wire.SessionState, message wire.MessageID) wire.AgentID {
	for _, a := range s.Agents {
		if a.MessageID == message && a.Status != wire.AgentStatusIdle {
			return a.Role
		}
	}
	return ""
}
