package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// errNoPlan is what an agent hears that works for no plan, or not any more.
var errNoPlan = errors.New("there is no plan that this is for")

// Progress implements [tools.Desktop].
func (p port) Progress(context.Context, tools.Caller, wire.TodoProgress) error { return errNoPlan }

// Input implements [tools.Desktop].
func (p port) Input(context.Context, tools.Caller, wire.HITLInputRequest) (json.RawMessage, error) {
	return nil, errNoPlan
}
