package session

import (
	"cmp"
	"errors"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/wire"
)

// setMode chooses the mode of agents. It may have approval rules, so that the same senders are allowed as
// for these.
func (cv *conversation) setMode(c *Command, m wire.SetMode) reply {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return r
	}
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	if !cv.w.state.HasMonitor(monitor) {
		monitor = firstMonitor
	}
	err := cv.agents.poolForUpdate().SetMode(m.Mode, monitor, c.From.Connection, c.Message.ID)
	switch {
	case errors.Is(err, modes.ErrNotFound):
		return refused(wire.CodeInvalidMessage, "there is no mode %q", m.Mode)
	case err != nil:
		return refused(wire.CodeStoreUnavailable, "the modes cannot be read now")
	}
	return reply{}
}

// setInstructions sets the custom instructions of the session.
func (cv *conversation) setInstructions(c *Command, m wire.SetInstructions) reply {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return r
	}
	if !modes.IsInstructions(m.Instructions) {
		return refused(wire.CodeInvalidMessage, "instructions have at most %d bytes of text", modes.MaxInstructions)
	}
	cv.agents.poolForUpdate().SetInstructions(m.Instructions, c.From.Connection, c.Message.ID)
	return reply{}
}

// refuseGuest rejects a command about how agents work that does not come from the owner of the session.
func (cv *conversation) refuseGuest(c *Command) reply {
	switch {
	case cv.agents == nil:
		return refused(wire.CodeProviderUnavailable, "no agent is available in this session")
	case c.isGuestOf(cv.w.user) || c.From.Invited:
		return refused(wire.CodeForbidden, "only the owner of the session can say how its agents work")
	}
	return reply{}
}
