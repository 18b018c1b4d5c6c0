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

// TriggerType is whom a message was for.
type TriggerType string

// The types of triggers.
const (
	TriggerMain   TriggerType = "main"
	TriggerWindow TriggerType = "window"
)

// Trigger is what made an agent act: a message, and what the desktop looked like.
type Trigger struct {
	Type TriggerType
	// Target is the window it was for, if it was for one.
	Target wire.WindowID
	// Text is what the user said, or a [ComponentClick].
	Text string
	// Windows are the open ones of its monitor.
	Windows []WindowSight
}

// WindowSight is what one sees of a window from afar.
type WindowSight struct {
	ID       wire.WindowID
	Renderer string
}

// Fingerprint is what is compared of triggers.
type Fingerprint struct {
	Type   TriggerType   `json:"type"`
	Target wire.WindowID `json:"target,omitempty"`
	// Content is the hash of the text.
	Content string `json:"content"`
	// Grams are the pairs of words that follow each other, sorted; of a text with
	// one word the text.
	Grams []string `json:"grams"`
	// Windows are the open windows as `id:renderer`, sorted.
	Windows []string `json:"windows"`
}

// maxCompared is how many bytes of a text are looked at for its grams.
const maxCompared = 4096

// Fingerprint is what there is to compare of a trigger.
func (t Trigger) Fingerprint() Fingerprint {
	text := normal(t.Text)
	hash := sha256.Sum256([]byte(text))
	windows := make([]string, len(t.Windows))
	for i, w := range t.Windows {
		windows[i] = string(w.ID) + ":" + w.Renderer
	}
	return Fingerprint{
		Type: t.Type, Target: t.Target,
		Content: hex.EncodeToString(hash[:]),
		Grams:   grams(text),
		Windows: set(windows),
	}
}

// has reports whether a window is open.
func (t Trigger) has(id wire.WindowID) bool {
	return slices.ContainsFunc(t.Windows, func(w WindowSight) bool { return w.ID == id })
}

// Same reports whether two triggers are the same: the same text, to the same
// agent, with the same windows open.
func (f Fingerprint) Same(o Fingerprint) bool {
	return f.Content == o.Content && f.Type == o.Type && f.Target == o.Target && slices.Equal(f.Windows, o.Windows)
}

// Similarity is between 0 and 1, 1 for the same: a half for the same kind of
// agent, of which a half is lost when the windows they are for differ, 0.3 for
// the text and 0.2 for the windows that are open.
func (f Fingerprint) Similarity(o Fingerprint) float64 {
	// In thousandths, so that the parts of the same make exactly 1.
	score := 0.0
	if f.Type == o.Type {
		score = 500
		if f.Target != o.Target {
			score = 250
		}
	}
	score += 300 * jaccard(f.Grams, o.Grams, 0)
	// The desktop itself is something two states always share. Without it, the
	// first window that opens would make an empty desktop as different as can be.
	score += 200 * jaccard(f.Windows, o.Windows, 1)
	return score / 1000
}

// jaccard is how much of two sorted sets is in both, given that they share some
// more besides. Two empty sets are the same.
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
	// What the hub adds to prompts says nothing about what the user wants.
	addedBlocks = regexp.MustCompile(`(?s)<(?:open_windows|reload_options|timeline|budget)>.*?</(?:open_windows|reload_options|timeline|budget)>|<(?:previous|recent)_?[a-z]*>.*?</(?:previous|recent)_?[a-z]*>|<ai[^>]*>.*?</ai>`)
	gestureTags = regexp.MustCompile(`</?ui:[^>]*>`)
	appPattern  = regexp.MustCompile(`app:\s*([\p{L}\p{N}_.-]+)`)
	buttonName  = regexp.MustCompile(`button "((?:[^"\\]|\\.)*)"`)
)

// words is the text without tags of the hub, with one space for many.
func words(text string) string {
	text = addedBlocks.ReplaceAllString(text, " ")
	text = gestureTags.ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(text), " ")
}

// normal is what is compared of a text.
func normal(text string) string { return strings.ToLower(words(text)) }

// grams are the pairs of neighbouring words.
func grams(text string) []string {
	text = cutBytes(text, maxCompared)
	w := strings.Fields(text)
	if len(w) < 2 {
		return []string{text}
	}
	pairs := make([]string, len(w)-1)
	for i := range pairs {
		pairs[i] = w[i] + " " + w[i+1]
	}
	return set(pairs)
}

// set sorts a list and leaves out what is there twice.
func set(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// cutBytes is s with at most n bytes, and no half character.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// maxLabel is how many characters a label has at most, if it is the text itself.
const maxLabel = 50

// label says in a few words what a trigger wanted.
func label(text string) string {
	if m := appPattern.FindStringSubmatch(text); m != nil {
		return "Open " + cut(m[1], maxTitle, "…") + " app"
	}
	if m := buttonName.FindStringSubmatch(text); m != nil {
		return `Click "` + cut(html.UnescapeString(m[1]), maxTitle, "…") + `"`
	}
	return cut(words(text), maxLabel, "...")
}
