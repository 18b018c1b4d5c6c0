package providers_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/providers"
)

// A call of a tool needs its result before the conversation can be sent to a model.
// Corrected completes a conversation that was cut off.
func ExampleCorrected() {
	cut := []providers.Entry{
		{Role: providers.RoleUser, Blocks: []providers.Block{{Kind: providers.BlockText, Text: "What is in notes.md?"}}},
		{Role: providers.RoleAssistant, Blocks: []providers.Block{
			{Kind: providers.BlockToolCall, Call: "c1", Tool: "read", Input: json.RawMessage(`{"path":"notes.md"}`)},
		}},
	}
	fmt.Println(providers.Check(cut) != nil)
	corrected := providers.Corrected(cut, providers.CorrectOptions{})
	fmt.Println(providers.Check(corrected), len(corrected), corrected[2].Blocks[0].IsError)
	// Output:
	// true
	// <nil> 3 true
}

// A conversation begins with the user.
func ExampleCheck() {
	err := providers.Check([]providers.Entry{
		{Role: providers.RoleAssistant, Blocks: []providers.Block{{Kind: providers.BlockText, Text: "Hello"}}},
	})
	fmt.Println(errors.Is(err, providers.ErrNotUser))
	// Output: true
}

// The class of a failure decides whether a retry makes sense.
func ExampleFailure() {
	for _, class := range []providers.Class{providers.Rate, providers.Auth} {
		var err error = &providers.Failure{Class: class, Err: errors.New("status 4xx")}
		f, _ := errors.AsType[*providers.Failure](err)
		fmt.Println(f.Class, f.Passing())
	}
	// Output:
	// rate true
	// auth false
}
