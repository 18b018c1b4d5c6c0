package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

var (
	errNoAnswer  = errors.New("there was no answer in time")
	errTakenBack = errors.New("the question was withdrawn")
)

// Progress implements [tools.Tasks].
func (p port) Progress(ctx context.Context, c tools.Caller, now wire.TodoProgress) error {
	var refused error
	if err := p.putAndWait(ctx, item{origin: string(c.Agent), work: func() {
		if why := p.owner.agents.plan.Progress(c.Job, now); why != nil {
			refused = errors.New(why.Reason)
		}
	}}); err != nil {
		return err
	}
	return refused
}

// Input implements [tools.Users]. The plan withdraws the question when the turn ends without
// waiting for the answer.
func (p port) Input(ctx context.Context, c tools.Caller, q wire.HITLInputRequest) (json.RawMessage, error) {
	w := newWait(ctx)
	name := ""
	var refused error
	err := p.runInStep(ctx, func() {
		switch {
		case ctx.Err() != nil:
			refused = ctx.Err()
		case !p.owner.agents.poolForUpdate().View.TurnActive(c):
			refused = errTurnOver
		default:
			id, known, why := p.owner.agents.plan.Ask(c.Job, q)
			switch {
			case why != nil:
				refused = errors.New(why.Reason)
			case known != nil:
				w.answer <- *known
			default:
				name = planQuestionName(id)
				p.owner.agents.answerWaits.add(name, w)
			}
		}
	})
	if err != nil || refused != nil {
		p.cleanUp(func() { p.owner.agents.answerWaits.remove(name, w) }) // the work may have run despite the error
		return nil, errors.Join(err, refused)
	}
	got, err := p.awaitAnswer(name, w, func() {})
	if err != nil {
		return nil, err
	}
	switch e, _ := got.(workflow.Answered); {
	case e.Value != nil:
		return e.Value, nil
	case e.Reason == wire.ClosedExpired:
		return nil, errNoAnswer
	default:
		return nil, errTakenBack
	}
}
