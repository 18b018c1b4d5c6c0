package workflow

import (
	"encoding/json"
	"net/url"
	"path"
	"strings"
	"unicode"

	"github.com/everdesk/everdesk/wire"
)

// Limits of the plan's answer.
const (
	maxText        = 64 << 10 // bytes of the text
	maxSummary     = 2 << 10  // bytes of the summary
	maxAttachments = 20       // attachments
	maxActions     = 10       // proposed next actions
	maxPath        = 1024     // bytes of the path of an attachment
	// maxProse bounds the prose around the JSON of an answer, in bytes. With more prose the
	// JSON is taken for an example within the text.
	maxProse = 200
	// maxResult bounds the JSON of a todo's result, maxResultText a result that is plain
	// text, in bytes.
	maxResult     = 16 << 10
	maxResultText = 2 << 10
)

// readResponse parses the answer of the plan, and returns the URLs of the reports in it. If
// the model did not write the requested JSON, its text is the answer.
func readResponse(text string, session wire.SessionID) (wire.PlanResponse, []string) {
	r := wire.PlanResponse{Format: "text", Attachments: []wire.PlanAttachment{}, NextActions: []string{}}
	reports := []string{}
	members := responseOf(text)
	if members == nil {
		r.Text = truncateBytes(strings.TrimSpace(printable(text)), maxText)
		return r, reports
	}
	r.Text = multiLine(members["text"], maxText)
	r.Summary = multiLine(members["summary"], maxSummary)
	for _, raw := range firstElements(members["attachments"], maxAttachments) {
		a, ok := attachment(raw, session)
		if !ok {
			continue
		}
		r.Attachments = append(r.Attachments, a)
		if a.Type == "report" {
			reports = append(reports, a.URL)
		}
	}
	for _, raw := range firstElements(members["next_actions"], maxActions) {
		if s := shortText(raw, ""); s != "" {
			r.NextActions = append(r.NextActions, s)
		}
	}
	if len(r.Attachments) > 0 {
		r.Format = "mixed"
	}
	return r, reports
}

// responseOf returns the members of the answer's JSON object, or nil if the text is not an
// object with a non-empty text.
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
	if json.Unmarshal(raw, &members) != nil || multiLine(members["text"], maxText) == "" {
		return nil
	}
	return members
}

// attachment decodes a reference to a file of the session. Invalid references are dropped.
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
		Type: shortText(members["type"], "file"), Title: shortText(members["title"], path.Base(name)),
		URL: "/api/sessions/" + string(session) + "/files/" + strings.Join(parts, "/"),
	}, true
}

// cleanPath validates a path relative to the session's folder.
func cleanPath(name string) (string, bool) {
	name = strings.TrimSpace(name)
	switch {
	case name == "" || len(name) > maxPath || name[0] == '/':
		return "", false
	case strings.ToValidUTF8(name, "") != name || strings.ContainsFunc(name, unicode.IsControl):
		return "", false
	case strings.ContainsAny(name, `\:`):
		return "", false // a Windows path or a URL
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", false
		}
	}
	name = path.Clean(name)
	return name, name != "."
}

// resultOf returns the result of a todo as a JSON object: the one the agent wrote, or its
// text wrapped in one.
func resultOf(text string) json.RawMessage {
	if raw, ok := wholeObject(text); ok && len(raw) <= maxResult {
		return raw
	}
	return compact(struct {
		Text string `json:"text"`
	}{truncateBytes(strings.TrimSpace(printable(text)), maxResultText)})
}

// multiLine returns a text of at most limit bytes; "" if the value is not a text.
func multiLine(raw json.RawMessage, limit int) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return truncateBytes(strings.TrimSpace(printable(s)), limit)
}

// firstElements returns at most limit elements of a list; none if the value is not a list.
func firstElements(raw json.RawMessage, limit int) []json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all[:min(len(all), limit)]
}
