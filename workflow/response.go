package workflow

import (
	"encoding/json"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/everdesk/everdesk/wire"
)

const (
	maxText        = 64 << 10 // bytes of an answer
	maxSummary     = 2 << 10
	maxAttachments = 20
	maxActions     = 10
	maxPath        = 1024
	// maxProse is how much may stand around the JSON of an answer, in bytes. Around
	// what is longer the JSON is an example in it.
	maxProse = 200
	// maxResult is how large the JSON of a todo's result is, and maxResultText how
	// long its text if it is none, in bytes.
	maxResult     = 16 << 10
	maxResultText = 2 << 10
)

// readResponse is the answer that a plan was made for, and the addresses of the
// reports in it. A model that does not write the JSON it was asked for has written
// the text of the answer.
func readResponse(text string, session wire.SessionID) (wire.PlanResponse, []string) {
	r := wire.PlanResponse{Format: "text", Attachments: []wire.PlanAttachment{}, NextActions: []string{}}
	reports := []string{}
	members := responseOf(text)
	if members == nil {
		r.Text = cut(strings.TrimSpace(printable(text)), maxText)
		return r, reports
	}
	r.Text = block(members["text"], maxText)
	r.Summary = block(members["summary"], maxSummary)
	for _, raw := range some(members["attachments"], maxAttachments) {
		a, ok := attachment(raw, session)
		if !ok {
			continue
		}
		r.Attachments = append(r.Attachments, a)
		if a.Type == "report" {
			reports = append(reports, a.URL)
		}
	}
	for _, raw := range some(members["next_actions"], maxActions) {
		if s := word(raw, ""); s != "" {
			r.NextActions = append(r.NextActions, s)
		}
	}
	if len(r.Attachments) > 0 {
		r.Format = "mixed"
	}
	return r, reports
}

// responseOf are the members of the object that an answer is, if it is one: with a
// text that is not empty.
func responseOf(text string) map[string]json.RawMessage {
	raw, ok := wholeObject(text)
	if !ok {
		found, err := findObject(text, "text")
		if err != nil || len(strings.TrimSpace(text))-len(found) > maxProse {
			return nil
		}
		raw = found
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || block(members["text"], maxText) == "" {
		return nil
	}
	return members
}

// attachment is a file of the session. What does not name one is left out.
func attachment(raw json.RawMessage, session wire.SessionID) (wire.PlanAttachment, bool) {
	var members map[string]json.RawMessage
	var name string
	if json.Unmarshal(raw, &members) != nil || json.Unmarshal(members["path"], &name) != nil {
		return wire.PlanAttachment{}, false
	}
	name, ok := cleanPath(name)
	if !ok {
		return wire.PlanAttachment{}, false
	}
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return wire.PlanAttachment{
		Type: word(members["type"], "file"), Title: word(members["title"], path.Base(name)),
		URL: "/api/sessions/" + string(session) + "/files/" + strings.Join(parts, "/"),
	}, true
}

// cleanPath is the way to a file from the session's folder, if it leads to one.
func cleanPath(name string) (string, bool) {
	name = strings.TrimSpace(name)
	switch {
	case name == "" || len(name) > maxPath || name[0] == '/':
		return "", false
	case strings.ToValidUTF8(name, "") != name || strings.ContainsFunc(name, unicode.IsControl):
		return "", false
	case strings.ContainsAny(name, `\:`):
		return "", false // a folder of Windows, or an address
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	name = path.Clean(name)
	return name, name != "."
}

// resultOf is what came of a todo, as a JSON object: the one that its agent wrote
// at last, or its text.
func resultOf(text string) json.RawMessage {
	if raw, ok := wholeObject(text); ok && len(raw) <= maxResult {
		return raw
	}
	return compact(struct {
		Text string `json:"text"`
	}{cut(strings.TrimSpace(printable(text)), maxResultText)})
}

// block is a text of several lines, of at most so many bytes; what is none is empty.
func block(raw json.RawMessage, most int) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return cut(strings.TrimSpace(printable(s)), most)
}

// some are the first elements of a list; what is none has none.
func some(raw json.RawMessage, most int) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all[:min(len(all), most)]
}
