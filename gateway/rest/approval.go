package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/wire"
)

// approvalTest asks how auto-approval rules decide on a command line.
type approvalTest struct {
	Rules   wire.AutoApproval `json:"rules"`
	Command string            `json:"command" wire:"max=8192" doc:"A shell command line."`
}

// approvalResult is the decision.
type approvalResult struct {
	Verdict string `json:"verdict" doc:"approve, deny or ask."`
	Reason  string `json:"reason" doc:"off, kind, empty, too_long, allowed, denied, no_rule or unclear."`
	Command string `json:"command,omitempty" doc:"The command of the line that decided, if one did."`
	Rule    string `json:"rule,omitempty" doc:"The prefix that decided, if one did."`
}

var (
	approvalTestForm   = httpio.FormOf[approvalTest]()
	approvalResultForm = httpio.FormOf[approvalResult]()
)

// testApproval applies rules to a command line. It runs nothing and needs no session.
func (o *desktopHandlers) testApproval(c echo.Context) error {
	in, err := approvalTestForm.Read(c, o.frameBytes)
	if err != nil {
		return err
	}
	e := approval.ExplainCommand(in.Rules, in.Command)
	return approvalResultForm.Answer(c, http.StatusOK, &approvalResult{
		Verdict: string(e.Verdict), Reason: string(e.Reason), Command: e.Command, Rule: e.Rule,
	})
}
