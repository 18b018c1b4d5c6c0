package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// sumUp is in what the hub says when it wants a summary of the conversation.
const sumUp = "is about to be replaced by a summary that you write now"

// How many orders a summary names, and how much of each.
const (
	maxOrders  = 20
	orderBytes = 120
)

// summary is what the demo makes of a conversation: it understands nothing, so it
// lists what the user said last.
func summary(entries []providers.Entry) string {
	var orders []string
	for _, e := range slices.Backward(entries) {
		for _, b := range e.Blocks {
			if e.Role == providers.RoleUser && b.Kind == providers.BlockText && len(orders) < maxOrders {
				if said := firstLine(readPrompt(b.Text).content); said != "" {
					orders = append(orders, "- "+said)
				}
			}
		}
	}
	slices.Reverse(orders)
	return fmt.Sprintf("The demo sums up %d messages. The user said:\n%s", len(entries), strings.Join(orders, "\n"))
}

// firstLine is the beginning of a text.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > orderBytes {
		line = strings.ToValidUTF8(line[:orderBytes], "") + "…"
	}
	return line
}
