package session

import (
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// changeUser gives the session to another user. Everything about it is in one step: the user in the
// directory, the shares, and the choices of the previous user that would have another meaning or grant
// rights with the new one. The owner ends after the step, because agents run with the models, tools,
// memory and limits of the user it was loaded for.
func (ow *owner) changeUser(it *item) {
	o, cs := it.order, &ow.commands
	if cs.card.has(o) { // delivered twice
		if why := cs.card.refusal(o); why != nil {
			it.finish(why)
		}
		return
	}
	why := ow.refuseUserChange(o)
	was := ow.w.user
	cs.card, _ = cs.card.apply(o) // which refuses shares only
	switch {
	case why != nil:
		cs.card = cs.card.withRefusal(o, why)
		it.finish(why)
	case o.User != was:
		cs.card = cs.card.withUser(o.User, was)
		ow.w.user, ow.w.step.user, ow.w.step.durable, ow.userChanged = o.User, o.User, true, true
		if ow.agents != nil {
			ow.agents.poolForUpdate().ResetChoices()
			ow.w.AddOps(ow.agents.apps.forgetAllowed()...)
		}
		ow.w.Emit(wire.SessionUserChanged{User: o.User, Previous: was})
		ow.w.AfterCommit(ow.endKernels) // they count for the previous user
	}
	ow.w.step.card = cs.card.encode()
}

// endKernels stops the runners of notebooks, which could start a kernel meanwhile, and ends all kernels.
func (ow *owner) endKernels() {
	ow.stopNotebooks()
	_ = ow.live.env.endKernels(ow.held.ctx, ow.live.id) // it is in the log; later the session may have kernels of the new user
}

// stopNotebooks stops the runners of notebooks.
func (ow *owner) stopNotebooks() {
	if ow.agents != nil {
		ow.agents.notebooks.close()
	}
}

// refuseUserChange returns why the session cannot be given to another user, or nil.
func (ow *owner) refuseUserChange(o *order) *Error {
	_, asked := ow.w.state.Notices().NextDeadline()
	switch {
	case o.User == ow.w.user:
		return nil
	case o.From != ow.w.user:
		return refusal(wire.CodeForbidden, "the session belongs to another user meanwhile")
	case ow.commands.card.Shares[o.User] == "":
		return refusal(wire.CodeInvalidMessage, "the session is not shared with %q; invite them first", o.User)
	case asked || ow.agents.working():
		// Work that goes on would use what belongs to the new user without having been asked for by them.
		return refusal(wire.CodeSessionInvalidState, "agents are at work or wait for an answer; stop them, or try again when they have finished")
	}
	return nil
}

// wasUser reports whether a card names a user as one to whom the session belonged before.
func wasUser(data []byte, user string) bool {
	c, err := readCard(data)
	return err == nil && slices.Contains(c.Former, user)
}
