package kernels

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// replayTimeout bounds the wait for what a journal remembers.
const replayTimeout = 30 * time.Second

//go:embed journal.py
var journal string

// ErrNoJournal means that the kernel cannot say what it sent.
var ErrNoJournal = errors.New("the kernel has no journal")

// InstallJournal makes a Python kernel remember its messages for [Conn.Replay], unless it does. It waits until the
// kernel has done it. installed is false if the kernel had its journal already. The error is [ErrNoJournal] if the
// kernel answers and cannot do it.
func (c *Conn) InstallJournal(ctx context.Context) (installed bool, err error) {
	const question = "__import__('IPython').get_ipython().kernel.everdesk_journal_installed"
	m, err := c.request(ctx, channelShell, "execute_request", executeRequest{Code: journal, Silent: true, UserExpressions: map[string]string{"installed": question}})
	if err != nil {
		return false, err
	}
	var reply struct {
		Status      string `json:"status"`
		ErrorName   string `json:"ename"`
		ErrorValue  string `json:"evalue"`
		Expressions map[string]struct {
			Data map[string]string `json:"data"`
		} `json:"user_expressions"`
	}
	if err := json.Unmarshal(m.Content, &reply); err != nil {
		return false, fmt.Errorf("%w: %w", ErrNoJournal, err)
	}
	said := reply.Expressions["installed"].Data["text/plain"]
	if reply.Status != "ok" || said != "True" && said != "False" {
		return false, fmt.Errorf("%w: %s %.100s %.200s", ErrNoJournal, reply.Status, reply.ErrorName, reply.ErrorValue)
	}
	return said == "True", nil
}

// askJournal sends a request that only kernels with a journal answer, and waits for the reply. All kernels answer the
// request that it sends behind it, and the control channel is ordered: if only that one is answered, there is no journal.
func (c *Conn) askJournal(ctx context.Context, kind string, content any) (Message, error) {
	const behindKind = "kernel_info_request"
	h, behind := c.header("", kind), c.header("", behindKind)
	reply, end := c.expect(h.ID)
	defer end()
	answered, endBehind := c.expect(behind.ID)
	defer endBehind()
	if err := c.send(ctx, channelControl, h, Header{}, content); err != nil {
		return Message{}, err
	}
	if err := c.send(ctx, channelControl, behind, Header{}, struct{}{}); err != nil {
		return Message{}, err
	}
	return c.first(ctx, kind, reply, answered)
}

// Replay delivers what the kernel published for an execution after the message with the id after, or all of it,
// and then everything that follows. It reports whether nothing can be missing; false means that the kernel has no
// journal, or a part of it is gone.
func (c *Conn) Replay(ctx context.Context, parent, after string) (complete bool, err error) {
	bounded, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	replayed, complete, err := c.replayed(bounded, parent, after)
	if err != nil && (ctx.Err() != nil || c.Err() != nil) {
		return false, err
	}
	c.deliver(replayed)
	return complete && err == nil, nil
}

func (c *Conn) replayed(ctx context.Context, parent, after string) (all []Message, complete bool, err error) {
	m, err := c.askJournal(ctx, "everdesk_replay_request", map[string]any{"after": after, "parents": []string{parent}})
	if err != nil {
		return nil, false, err
	}
	var reply struct {
		Status   string `json:"status"`
		Complete bool   `json:"complete"`
		Messages []struct {
			ID      string          `json:"msg_id"`
			Type    string          `json:"msg_type"`
			Parent  string          `json:"parent"`
			Content json.RawMessage `json:"content"`
			Cut     int64           `json:"cut"`
		} `json:"messages"`
	}
	if json.Unmarshal(m.Content, &reply) != nil || reply.Status != "ok" {
		return nil, false, ErrNoJournal
	}
	for _, r := range reply.Messages {
		if r.Cut > 0 && string(r.Content) == "{}" {
			r.Content = nil // nothing of it was kept
		}
		all = append(all, Message{
			Channel: channelIOPub, Header: Header{ID: r.ID, Type: r.Type}, Parent: Header{ID: r.Parent}, Content: r.Content, Cut: r.Cut,
		})
	}
	return all, reply.Complete, nil
}
