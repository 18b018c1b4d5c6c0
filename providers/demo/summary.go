package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// sumUp occurs in the hub's prompt for a summary of the conversation.
const sumUp = "is about to be replaced by a summary that you write now"

// Maximum number of messages in a summary, and of bytes of each.
const (
	maxOrders  = 20
	orderBytes = 120
)

// summary lists the user's last messages; the demo does not understand the conversation.
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

// firstLine returns the first line of a text, truncated to orderBytes.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > orderBytes {
		line = strings.ToValidUTF8(line[:orderBytes], "") + "…"
	}
	return line
}
