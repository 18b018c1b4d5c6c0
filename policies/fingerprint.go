package policies

import (
	"crypto/sha256"
	"encoding/hex"
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// TriggerType is the kind of agent that a message was for.
type TriggerType string

// The types of triggers.
const (
	TriggerMain   TriggerType = "main"
	TriggerWindow TriggerType = "window"
)

// Trigger is the cause of an agent's actions: a message and the state of the desktop.
type Trigger struct {
	Type TriggerType
	// Target is the addressed window, empty for the main agent.
	Target wire.WindowID
	// Text is the user's text, or a [ComponentClick].
	Text string
	// Windows are the open windows of its monitor.
	Windows []WindowInfo
}

// WindowInfo is the id and the renderer of an open window.
type WindowInfo struct {
	ID       wire.WindowID
	Renderer string
}

// Fingerprint holds the compared properties of a trigger.
type Fingerprint struct {
	Type   TriggerType   `json:"type"`
	Target wire.WindowID `json:"target,omitempty"`
	// Content is the hash of the normalized text.
	Content string `json:"content"`
	// Grams are the pairs of adjacent words, sorted; a text with one word is its only gram.
	Grams []string `json:"grams"`
	// Windows are the open windows as `id:renderer`, sorted.
	Windows []string `json:"windows"`
}

// maxCompared bounds the bytes of a text used for its grams.
const maxCompared = 4096

// Fingerprint returns the fingerprint of the trigger.
func (t Trigger) Fingerprint() Fingerprint {
	text := normalize(t.Text)
	hash := sha256.Sum256([]byte(text))
	windows := make([]string, len(t.Windows))
	for i, w := range t.Windows {
		windows[i] = string(w.ID) + ":" + w.Renderer
	}
	return Fingerprint{
		Type: t.Type, Target: t.Target,
		Content: hex.EncodeToString(hash[:]),
		Grams:   grams(text),
		Windows: sortedSet(windows),
	}
}

// has reports whether a window is open.
func (t Trigger) has(id wire.WindowID) bool {
	return slices.ContainsFunc(t.Windows, func(w WindowInfo) bool { return w.ID == id })
}

// Same reports whether two triggers are equal: the same text to the same agent, with the same
// windows open.
func (f Fingerprint) Same(o Fingerprint) bool {
	return f.Content == o.Content && f.Type == o.Type && f.Target == o.Target && slices.Equal(f.Windows, o.Windows)
}

// Similarity returns a value between 0 and 1: 0.5 for the same kind of agent, or 0.25 if the
// target windows differ, plus up to 0.3 for the text and up to 0.2 for the open windows.
func (f Fingerprint) Similarity(o Fingerprint) float64 {
	// In thousandths, so that equal fingerprints give exactly 1.
	score := 0.0
	if f.Type == o.Type {
		score = 500
		if f.Target != o.Target {
			score = 250
		}
	}
	score += 300 * jaccard(f.Grams, o.Grams, 0)
	// The desktop itself counts as one common element. Otherwise the first opened window would
	// make a desktop completely different from an empty one.
	score += 200 * jaccard(f.Windows, o.Windows, 1)
	return score / 1000
}

// jaccard returns the Jaccard similarity of two sorted sets that have a further number of
// elements, besides, in common. Two empty sets are equal.
func jaccard(a, b []string, besides int) float64 {
	both := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch strings.Compare(a[i], b[j]) {
		case 0:
			both++
			i++
			j++
		case -1:
			i++
		default:
			j++
		}
	}
	all := len(a) + len(b) - both + besides
	if all == 0 {
		return 1
	}
	return float64(both+besides) / float64(all)
}

var (
	// Blocks that the hub adds to prompts say nothing about the user's request.
	addedBlocks = regexp.MustCompile(`(?s)<(?:open_windows|reload_options|timeline|budget)>.*?</(?:open_windows|reload_options|timeline|budget)>|<(?:previous|recent)_?[a-z]*>.*?</(?:previous|recent)_?[a-z]*>|<ai[^>]*>.*?</ai>`)
	gestureTags = regexp.MustCompile(`</?ui:[^>]*>`)
	appPattern  = regexp.MustCompile(`app:\s*([\p{L}\p{N}_.-]+)`)
	buttonName  = regexp.MustCompile(`button "((?:[^"\\]|\\.)*)"`)
)

// plainText returns the text without tags of the hub, with whitespace collapsed.
func plainText(text string) string {
	text = addedBlocks.ReplaceAllString(text, " ")
	text = gestureTags.ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(text), " ")
}

// normalize returns the compared form of a text.
func normalize(text string) string { return strings.ToLower(plainText(text)) }

// grams returns the pairs of adjacent words.
func grams(text string) []string {
	text = truncateBytes(text, maxCompared)
	w := strings.Fields(text)
	if len(w) < 2 {
		return []string{text}
	}
	pairs := make([]string, len(w)-1)
	for i := range pairs {
		pairs[i] = w[i] + " " + w[i+1]
	}
	return sortedSet(pairs)
}

// sortedSet sorts a list and removes duplicates.
func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// truncateBytes returns at most n bytes of s without splitting a character.
func truncateBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// maxLabel bounds the characters of a label that is taken from the text.
const maxLabel = 50

// label describes the request of a trigger in a few words.
func label(text string) string {
	if m := appPattern.FindStringSubmatch(text); m != nil {
		return "Open " + truncate(m[1], maxTitle, "…") + " app"
	}
	if m := buttonName.FindStringSubmatch(text); m != nil {
		return `Click "` + truncate(html.UnescapeString(m[1]), maxTitle, "…") + `"`
	}
	return truncate(plainText(text), maxLabel, "...")
}
