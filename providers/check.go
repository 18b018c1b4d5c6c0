package providers

import (
	"errors"
	"fmt"
	"strings"
)

// Errors of [Check].
var (
	ErrNotUser  = errors.New("a conversation begins with the user")
	ErrSameRole = errors.New("user and assistant do not alternate")
	ErrEmpty    = errors.New("a message or a part of it is empty")
	ErrPlace    = errors.New("this part does not belong to that side, or not there")
	ErrInput    = errors.New("the input of a tool is no JSON object")
	ErrSameCall = errors.New("two calls have one id, or one has none")
	ErrNoCall   = errors.New("a result has no call in the message before it, or is the second one")
	ErrNoResult = errors.New("a call has no result in the message after it")
)

// Check verifies that a conversation can be sent to a model: it begins with the user, the roles
// alternate, nothing is empty or blank, every tool result has its call in the message before
// it, and every call has its result in the message after it, before anything else. Every
// backend calls it last, on exactly what it sends. The last message may have either role, but
// may not contain tool calls.
func Check(entries []Entry) error {
	var c checker
	for i, e := range entries {
		if err := c.entry(i, e); err != nil {
			return fmt.Errorf("message %d of %d: %w", i+1, len(entries), err)
		}
	}
	if len(c.open) > 0 {
		return fmt.Errorf("message %d of %d: %w", len(entries), len(entries), ErrNoResult)
	}
	return nil
}

// Checked is [Check] for a backend about to send a conversation: the error is a [*Failure].
func Checked(entries []Entry) error {
	if err := Check(entries); err != nil {
		return &Failure{Class: Invalid, Err: fmt.Errorf("the conversation cannot be sent: %w", err)}
	}
	return nil
}

// checker is the state of Check after the messages so far.
type checker struct {
	last Role
	used map[string]bool // ids of tool calls
	open map[string]bool // calls of the previous message without a result
}

func (c *checker) entry(i int, e Entry) error {
	switch {
	case i == 0 && e.Role != RoleUser:
		return ErrNotUser
	case e.Role == c.last || e.Role != RoleUser && e.Role != RoleAssistant:
		return ErrSameRole
	case len(e.Blocks) == 0:
		return ErrEmpty
	case e.Role == RoleAssistant && e.Blocks[len(e.Blocks)-1].private():
		return fmt.Errorf("%w: nothing follows its %s", ErrPlace, e.Blocks[len(e.Blocks)-1].Kind)
	}
	c.last = e.Role
	results := true // only results so far
	for _, b := range e.Blocks {
		if err := c.block(e.Role, b, results); err != nil {
			return err
		}
		results = results && b.Kind == BlockToolResult
	}
	if e.Role == RoleUser && len(c.open) > 0 {
		return ErrNoResult
	}
	return nil
}

func (c *checker) block(role Role, b Block, results bool) error {
	place := RoleAssistant
	switch b.Kind {
	case BlockText:
		if strings.TrimSpace(b.Text) == "" {
			return ErrEmpty
		}
		return nil
	case BlockThinking, BlockOpaque, BlockToolCall:
	case BlockImage, BlockToolResult:
		place = RoleUser
	default:
		return fmt.Errorf("%w: a block is %q", ErrPlace, b.Kind)
	}
	switch {
	case role != place || b.Kind == BlockToolResult && !results:
		return fmt.Errorf("%w: a block is %q", ErrPlace, b.Kind)
	case b.Kind == BlockImage && b.Image == nil:
		return ErrEmpty
	case b.Kind == BlockToolCall:
		return c.call(b)
	case b.Kind == BlockToolResult:
		if !c.open[b.Call] {
			return fmt.Errorf("%w: %q", ErrNoCall, b.Call)
		}
		delete(c.open, b.Call)
	}
	return nil
}

func (c *checker) call(b Block) error {
	switch {
	case b.Call == "" || c.used[b.Call]:
		return fmt.Errorf("%w: %q", ErrSameCall, b.Call)
	case !isObject(b.Input):
		return fmt.Errorf("%w: call %q", ErrInput, b.Call)
	}
	if c.used == nil {
		c.used, c.open = map[string]bool{}, map[string]bool{}
	}
	c.used[b.Call], c.open[b.Call] = true, true
	return nil
}
