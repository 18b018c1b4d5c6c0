package approval_test

import (
	"fmt"

	"github.com/everdesk/everdesk/approval"
	"github.com/everdesk/everdesk/wire"
)

// Rules approve what they name and nothing else.
func ExampleDecide() {
	rules := wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowReadOnly: true}
	for _, tool := range []string{"read_file", "write_to_file"} {
		q := approval.NewQuestion(tool, []byte(`{"path":"notes.md"}`))
		fmt.Println(tool, approval.Decide(rules, q))
	}
	// Output:
	// read_file approve
	// write_to_file ask
}

// Every command of a line is judged, and substitutions always go to the user.
func ExampleJudgeCommand() {
	allowed, denied := []string{"git", "ls"}, []string{"git push"}
	for _, line := range []string{"ls && git status", "git status; git push -f", "git log $(cat x)", "gitk"} {
		fmt.Printf("%s: %s\n", line, approval.JudgeCommand(line, allowed, denied))
	}
	// Output:
	// ls && git status: approve
	// git status; git push -f: deny
	// git log $(cat x): ask
	// gitk: ask
}

// A window counts what was spent since the user last confirmed.
func ExampleWindow() {
	rules := wire.AutoApproval{AllowedMaxRequests: 2}
	var w approval.Window
	for range 2 {
		w = w.Spend(0.01, false)
		limit, reached := w.Exceeds(rules)
		fmt.Printf("%d %t %q\n", w.Requests, reached, limit.Type)
	}
	// Output:
	// 1 false ""
	// 2 true "requests"
}
