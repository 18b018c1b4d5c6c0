package tools

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func memoryTools() []tool {
	return []tool{
		{
			name: "system:memorize", in: leaders, personal: true, leaves: true, use: with(memorize),
			about: "Remember a fact about the user for all later conversations, on all desktops. One short sentence.",
		},
		{
			name: "system:list_memories", in: leaders, personal: true, parallel: true, repeatable: true, use: with(listMemories),
			about: "List what is remembered about the user.",
		},
		{name: "system:forget", in: leaders, personal: true, use: with(forget), about: "Forget something that is remembered about the user."},
	}
}

// Bounds of a user's memory, in bytes of text and in items. All of it is in the
// briefing of every agent whose turn is not a guest's.
const (
	maxMemory      = 64 << 10
	maxMemoryItems = 500
)

// memory is the document with remembered facts about a user.
type memory struct {
	Items     []memoryItem `json:"items"`
	IDCounter int          `json:"idCounter"`
}

type memoryItem struct {
	ID   string      `json:"id"`
	Text string      `json:"text"`
	Time wire.Millis `json:"timestamp"`
}

type memorizeInput struct {
	Content string `json:"content" wire:"min=1,max=2000"`
}

func memorize(ctx context.Context, u *use, in memorizeInput) providers.ToolResult {
	// An item is one line of the prompt.
	line := strings.Join(strings.Fields(in.Content), " ")
	if line == "" {
		return u.refuse(ctx, "content: there is nothing to remember.")
	}
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		said, id := "", ""
		err := edit(ctx, u.Executor, memoryCollection, u.User, func(m *memory) error {
			size := len(line)
			for _, item := range m.Items {
				if item.Text == line {
					said, id = item.ID+" says so already.", ""
					return nil
				}
				size += len(item.Text)
			}
			if size > maxMemory || len(m.Items) >= maxMemoryItems {
				return fmt.Errorf("memory is full: %d entries with %d bytes; forget something first", len(m.Items), size-len(line))
			}
			m.IDCounter++
			id = "mem-" + strconv.Itoa(m.IDCounter)
			m.Items = append(m.Items, memoryItem{ID: id, Text: line, Time: wire.Millis(time.Now().UnixMilli())})
			said = fmt.Sprintf("Remembered as %s.", id)
			return nil
		})
		if err == nil && id != "" {
			u.notifyUser(ctx, "Remembered about you: "+line)
		}
		return text(said), err
	})
}

// notifyUser shows a toast about an effect of a tool beyond the desktop. A failure is logged.
func (u *use) notifyUser(ctx context.Context, what string) {
	id := u.id("told")
	err := u.Desktop.Mailbox.Submit(ctx, u.User, wire.Message{Session: u.Session, ID: wire.MessageID(id), Data: wire.Emit{
		MessageID: wire.MessageID(id), MonitorID: u.Monitor,
		Actions: []wire.Action{wire.ToastShow{Toast: wire.Toast{ID: wire.NoticeID(id), Message: what, Variant: wire.NoticeInfo}, ActionMeta: u.meta()}},
	}})
	if err != nil {
		u.cfg.Logger.Warn("people could not be told what a tool did", "session", u.Session, "tool", u.call.Tool, "error", err)
	}
}

func listMemories(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		m, _, err := load[memory](ctx, u.Executor, memoryCollection, u.User)
		if err != nil {
			return providers.ToolResult{}, err
		}
		return asJSON(append([]memoryItem{}, m.Items...)), nil
	})
}

type forgetInput struct {
	ID string `json:"id" jsonschema:"Such as mem-3." wire:"max=100"`
}

func forget(ctx context.Context, u *use, in forgetInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		err := edit(ctx, u.Executor, memoryCollection, u.User, func(m *memory) error {
			i := slices.IndexFunc(m.Items, func(item memoryItem) bool { return item.ID == in.ID })
			if i < 0 {
				return fmt.Errorf("nothing is remembered as %q", in.ID)
			}
			m.Items = slices.Delete(m.Items, i, i+1)
			return nil
		})
		return textf("Forgot %s.", in.ID), err
	})
}
