package attach

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// question is an open question to the user. Exactly one of dialog, prompt, row (of type ask) and
// plan is set.
type question struct {
	id     string
	dialog *wire.ApprovalRequest
	prompt *wire.OpenPrompt
	row    *wire.UIRow
	plan   wire.HITLRequest
}

func (q question) name() string { return q.id }

// questions returns the open questions.
func (c *console) questions() []question {
	s := c.client.State()
	var open []question
	for _, d := range s.Dialogs {
		open = append(open, question{id: string(d.DialogID), dialog: &d})
	}
	for _, p := range s.Prompts {
		open = append(open, question{id: string(p.ID), prompt: &p})
	}
	for _, r := range s.RecentMessages {
		if asks(r) {
			open = append(open, question{id: rowID(r), row: &r})
		}
	}
	for _, r := range s.HITLRequests {
		open = append(open, question{id: requestID(r), plan: r})
	}
	return open
}

// asks reports whether a row waits for an ASK_RESPONSE, and has no dialog or prompt.
func asks(r wire.UIRow) bool {
	return r.Type == wire.RowAsk && !r.IsAnswered && r.Ask.Class() != wire.AskNonBlocking && !asksElsewhere(r)
}

// asksElsewhere reports whether the question of a row is also a dialog or a prompt, which
// is displayed instead.
func asksElsewhere(r wire.UIRow) bool {
	dialog, prompt := contextpool.QuestionOfRow(r)
	return r.Type == wire.RowAsk && (dialog != "" || prompt != "")
}

// requestID returns the id of a plan's question.
func requestID(r wire.HITLRequest) string {
	switch d := r.(type) {
	case wire.HITLPlanReview:
		return string(d.RequestID)
	case wire.HITLApprovalRequest:
		return string(d.RequestID)
	case wire.HITLInputRequest:
		return string(d.RequestID)
	case wire.HITLClarification:
		return string(d.RequestID)
	}
	return ""
}

// rowID returns the id of a row: its time in milliseconds.
func rowID(r wire.UIRow) string { return strconv.FormatInt(int64(r.TS), 10) }

func (c *console) yes(rest string) (wire.ClientPayload, error) {
	return decide(c.questions(), rest, true)
}

func (c *console) no(rest string) (wire.ClientPayload, error) {
	return decide(c.questions(), rest, false)
}

// decide answers a question with yes or no. rest is "[ID] [always]".
func decide(open []question, rest string, yes bool) (wire.ClientPayload, error) {
	id, rest := firstWord(rest)
	if id == "always" && rest == "" {
		id, rest = "", id
	}
	if rest != "" && rest != "always" {
		return nil, fmt.Errorf("want always or nothing after the id, got %q; words go with :answer", rest)
	}
	q, err := find(open, question.name, id, "open question")
	if err != nil {
		return nil, err
	}
	if rest != "" && q.dialog == nil {
		return nil, errors.New("that cannot be answered for always")
	}
	switch {
	case q.plan != nil:
		return q.decided(yes)
	case q.dialog != nil:
		d := q.dialog
		return wire.DialogFeedback{DialogID: d.DialogID, Confirmed: yes, MonitorID: d.MonitorID, RememberChoice: remember(rest, yes)}, nil
	case q.row != nil && yes:
		return wire.AskResponse{TS: q.row.TS, Response: wire.AnswerYes, MonitorID: q.row.MonitorID}, nil
	case q.row != nil:
		return wire.AskResponse{TS: q.row.TS, Response: wire.AnswerNo, MonitorID: q.row.MonitorID}, nil
	}
	word := "no"
	if yes {
		word = "yes"
	}
	choice := slices.IndexFunc(q.prompt.Options, func(o wire.PromptOption) bool {
		return strings.EqualFold(o.Value, word) || strings.EqualFold(o.Label, word)
	})
	switch {
	case choice >= 0:
		return answerPrompt(q.prompt, q.prompt.Options[choice].Value)
	case yes:
		return nil, errors.New("that question wants an answer, as in :answer TEXT")
	}
	return wire.UserPromptResponse{PromptID: q.prompt.ID, MonitorID: q.prompt.MonitorID, Dismissed: true}, nil
}

func remember(always string, yes bool) wire.RememberChoice {
	switch {
	case always == "":
		return ""
	case yes:
		return wire.RememberAlways
	}
	return wire.RememberDenyAlways
}

func (c *console) answer(rest string) (wire.ClientPayload, error) { return answer(c.questions(), rest) }

// answer answers the question whose id is the first word of text, if that begins with #, or the
// only open question.
func answer(open []question, text string) (wire.ClientPayload, error) {
	id := ""
	if name, rest := firstWord(text); strings.HasPrefix(name, "#") {
		// If one question is open and the word is not its id, the word belongs to the answer.
		if _, err := find(open, question.name, name, ""); err == nil || len(open) != 1 {
			id, text = name, rest
		}
	}
	q, err := find(open, question.name, id, "open question")
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return nil, errors.New("want an answer, as in :answer perhaps")
	case q.dialog != nil:
		return nil, errors.New("that question takes :yes or :no")
	case q.plan != nil:
		return q.replied(text)
	case q.row != nil:
		return wire.AskResponse{TS: q.row.TS, Response: wire.AnswerMessage, Text: text, MonitorID: q.row.MonitorID}, nil
	}
	return answerPrompt(q.prompt, text)
}

// answerPrompt answers a prompt with the choices in text, separated by commas. If one of them is
// no choice, it answers with the text, if the prompt accepts one.
func answerPrompt(p *wire.OpenPrompt, text string) (wire.ClientPayload, error) {
	a := wire.UserPromptResponse{PromptID: p.ID, MonitorID: p.MonitorID}
	option := func(text string) int {
		return slices.IndexFunc(p.Options, func(o wire.PromptOption) bool { return o.Value == text || o.Label == text })
	}
	choices := strings.Split(text, ",")
	if option(text) >= 0 { // an option may contain a comma
		choices = []string{text}
	}
	for _, choice := range choices {
		i := option(strings.TrimSpace(choice))
		if i < 0 {
			a.SelectedValues = nil
			break
		}
		a.SelectedValues = append(a.SelectedValues, p.Options[i].Value)
	}
	switch {
	case len(a.SelectedValues) > 1 && !p.MultiSelect:
		return nil, errors.New("only one choice is possible")
	case len(a.SelectedValues) == 0 && p.InputField == nil && len(p.Options) > 0:
		return nil, fmt.Errorf("%q is not one of the choices", text)
	case len(a.SelectedValues) == 0:
		a.Text = text
	}
	return a, nil
}
