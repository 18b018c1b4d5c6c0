package session

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A committed answer is not lost with an owner that dies before the agent's tool has ended: the
// next owner does not ask again, however often that happens.
func TestAnswersSurviveTheOwner(t *testing.T) {
	t.Parallel()
	w := &stepWriter{step: &step{}}
	q := &questions{w: w, agents: &agents{w: w}}
	name := promptName("question-1")
	wait := newWait(t.Context())
	q.agents.answerWaits.add(name, wait)
	given := wire.UserPromptResponse{PromptID: "question-1", SelectedValues: []string{"b"}, Text: "more"}
	q.endQuestion(name, "main-monitor-0-m1", ending{Reason: wire.ClosedAnswered, Selected: given.SelectedValues, Text: given.Text}, given)
	for _, then := range w.step.effects {
		then()
	}
	if got := <-wait.answer; fmt.Sprint(got) != fmt.Sprint(given) {
		t.Errorf("the waiting call gets %+v, want %+v", got, given)
	}
	for range 2 {
		next := &questions{w: w, agents: &agents{w: w}}
		table := map[string][]byte{}
		for _, op := range q.closed.all() {
			table[op.Field] = op.Values[0]
		}
		if err := next.closed.restore(table); err != nil {
			t.Fatal(err)
		}
		e, ok := next.keptAnswer(name)
		if got := e.response("question-1"); !ok || fmt.Sprint(got) != fmt.Sprint(given) {
			t.Errorf("the next owner has %+v, %v, want %+v", got, ok, given)
		}
		q = next
	}
}
