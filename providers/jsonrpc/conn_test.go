package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// pair returns two connected ends. All messages are delivered in order, each direction by one
// goroutine.
func pair(t *testing.T, a, b jsonrpc.Config) (*jsonrpc.Conn, *jsonrpc.Conn) {
	t.Helper()
	toA, toB := make(chan []byte, 1000), make(chan []byte, 1000)
	write := func(to chan []byte) func(context.Context, []byte) error {
		return func(ctx context.Context, line []byte) error {
			select {
			case to <- line:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	a.Write, b.Write = write(toB), write(toA)
	left, right := jsonrpc.New(a), jsonrpc.New(b)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	deliver := func(from chan []byte, c *jsonrpc.Conn) {
		for {
			select {
			case line := <-from:
				if err := c.Receive(line); err != nil {
					t.Errorf("receive %s: %v", line, err)
				}
			case <-stop:
				return
			}
		}
	}
	wg.Go(func() { deliver(toA, left) })
	wg.Go(func() { deliver(toB, right) })
	t.Cleanup(func() {
		left.Close(nil)
		right.Close(nil)
		close(stop)
		wg.Wait()
	})
	return left, right
}

// echo answers every call with its own parameters.
func echo(_ context.Context, c jsonrpc.Served) (any, error) { return c.Params, nil }

func TestCallsInBothDirections(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		a, b := pair(t, jsonrpc.Config{Serve: echo, Bare: bare}, jsonrpc.Config{Serve: echo, Bare: bare})
		var wg sync.WaitGroup
		for n := range 50 {
			for _, c := range []*jsonrpc.Conn{a, b} {
				wg.Go(func() {
					var got int
					if err := c.Call(t.Context(), "echo", n, &got); err != nil || got != n {
						t.Errorf("got %d and error %v, want %d", got, err, n)
					}
				})
			}
		}
		wg.Wait()
	}
}

func TestNotificationsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	var got []string
	a, _ := pair(t, jsonrpc.Config{}, jsonrpc.Config{
		Notified: func(method string, params json.RawMessage) { got = append(got, method+string(params)) },
		Serve:    func(context.Context, jsonrpc.Served) (any, error) { return len(got), nil },
	})
	for n := range 20 {
		if err := a.Notify(t.Context(), "n", n); err != nil {
			t.Fatal(err)
		}
	}
	var count int
	if err := a.Call(t.Context(), "count", nil, &count); err != nil || count != 20 {
		t.Errorf("%d notifications were handled before the call (%v), want 20", count, err)
	}
	for n, s := range got {
		if want := fmt.Sprintf("n%d", n); s != want {
			t.Errorf("notification %d is %s, want %s", n, s, want)
		}
	}
}

func TestErrorsReachTheCaller(t *testing.T) {
	t.Parallel()
	a, b := pair(t, jsonrpc.Config{}, jsonrpc.Config{Serve: func(_ context.Context, c jsonrpc.Served) (any, error) {
		switch c.Method {
		case "known":
			return nil, fmt.Errorf("wrapped: %w", &jsonrpc.Error{Code: 7, Message: "no luck", Data: json.RawMessage(`{"a":1}`)})
		case "plain":
			return nil, errors.New("it broke")
		case "odd":
			return func() {}, nil
		}
		return nil, jsonrpc.NoMethod(c.Method)
	}})
	for method, want := range map[string]jsonrpc.Error{
		"known": {Code: 7, Message: "no luck"},
		"plain": {Code: jsonrpc.CodeInternal, Message: "it broke"},
		"odd":   {Code: jsonrpc.CodeInternal, Message: "encode func(): json: unsupported type: func()"},
		"none":  {Code: jsonrpc.CodeNoMethod, Message: "there is no method none"},
	} {
		var got *jsonrpc.Error
		if err := a.Call(t.Context(), method, nil, nil); !errors.As(err, &got) || got.Code != want.Code || got.Message != want.Message {
			t.Errorf("%s: got error %v, want %v", method, err, &want)
		}
	}
	var refused *jsonrpc.Error
	if err := b.Call(t.Context(), "any", nil, nil); !errors.As(err, &refused) || refused.Code != jsonrpc.CodeNoMethod {
		t.Errorf("an end that serves nothing: got error %v, want no method", err)
	}
	var text string
	a2, _ := pair(t, jsonrpc.Config{}, jsonrpc.Config{Serve: echo})
	if err := a2.Call(t.Context(), "echo", 5, &text); err == nil {
		t.Errorf("a number was decoded as the text %q", text)
	}
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		a, _ := pair(t, jsonrpc.Config{MaxCalls: 1}, jsonrpc.Config{Serve: func(ctx context.Context, _ jsonrpc.Served) (any, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return "late", nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- a.Call(ctx, "wait", nil, nil) }()
		synctest.Wait()
		if err := a.Call(t.Context(), "more", nil, nil); !errors.Is(err, jsonrpc.ErrTooMany) {
			t.Errorf("a second call: got error %v, want ErrTooMany", err)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want canceled", err)
		}
		close(release) // the late result is dropped
		synctest.Wait()
		if err := a.Call(t.Context(), "again", nil, nil); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := pair(t, jsonrpc.Config{}, jsonrpc.Config{Serve: func(ctx context.Context, _ jsonrpc.Served) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		done := make(chan error)
		go func() { done <- a.Call(t.Context(), "wait", nil, nil) }()
		synctest.Wait()
		broken := errors.New("the process ended")
		a.Close(broken)
		if err := <-done; !errors.Is(err, broken) {
			t.Errorf("a call that waits: got error %v, want the cause", err)
		}
		if err := a.Call(t.Context(), "more", nil, nil); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("a call after the end: got error %v, want ErrClosed", err)
		}
		b.Close(nil)
	})
}

func TestServedCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		a, _ := pair(t, jsonrpc.Config{}, jsonrpc.Config{MaxServed: 2, Serve: func(context.Context, jsonrpc.Served) (any, error) {
			<-release
			return "done", nil
		}})
		results := make(chan error, 3)
		for range 2 {
			go func() { results <- a.Call(t.Context(), "wait", nil, nil) }()
		}
		synctest.Wait()
		var busy *jsonrpc.Error
		if err := a.Call(t.Context(), "third", nil, nil); !errors.As(err, &busy) || busy.Code != jsonrpc.CodeBusy {
			t.Errorf("the third call: got error %v, want busy", err)
		}
		close(release)
		for range 2 {
			if err := <-results; err != nil {
				t.Errorf("a served call: %v", err)
			}
		}
	})
}

// The ids of the other end are a number space of their own; 0 and texts are valid.
func TestIDsAreSentBack(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 10)
	c := jsonrpc.New(jsonrpc.Config{
		Bare: true, Serve: func(_ context.Context, c jsonrpc.Served) (any, error) { return c.ID, nil },
		Write: func(_ context.Context, line []byte) error { sent <- string(line); return nil },
	})
	defer c.Close(nil)
	for id, quoted := range map[string]string{"0": `"0"`, `"a-b"`: `"\"a-b\""`, "-1.5": `"-1.5"`} {
		if err := c.Receive([]byte(`{"id":` + id + `,"method":"m","params":{}}`)); err != nil {
			t.Fatal(err)
		}
		if got, want := <-sent, `{"id":`+id+`,"result":`+quoted+`}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	c := jsonrpc.New(jsonrpc.Config{Write: func(context.Context, []byte) error { return nil }})
	defer c.Close(nil)
	for _, line := range []string{
		``, `x`, `[]`, `1`, `null`, `{}`, `{"id":null}`, `{"id":{},"method":"m"}`, `{"id":[1],"result":1}`, `{"id":true,"method":"m"}`,
		`{"error":{"code":1,"message":"parse error"}}`, `{"method":5}`, `{"id":1,"result":1} {}`,
		`{"method":"m","id":"` + strings.Repeat("x", 300) + `"}`,
	} {
		if err := c.Receive([]byte(line)); !errors.Is(err, jsonrpc.ErrMessage) {
			t.Errorf("%.60s: got error %v, want ErrMessage", line, err)
		}
	}
	for _, line := range []string{`{"id":99,"result":1}`, `{"id":"1","result":1}`, `{"id":99,"error":{"code":1,"message":"x"}}`, `{"method":"m"}`, `{"id":1}`} {
		if err := c.Receive([]byte(line)); err != nil {
			t.Errorf("%s: got error %v, want none", line, err)
		}
	}
}

func FuzzReceive(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","method":"m","params":[1]}`, `{"method":"n","emittedAtMs":5}`,
		`{"id":0,"error":{"code":-32600,"message":"no active turn to steer"}}`, `{"id":null,"method":"x"}`, `{"id":1e400,"method":"x"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		sent := make(chan []byte, 1)
		c := jsonrpc.New(jsonrpc.Config{Serve: echo, Write: func(_ context.Context, line []byte) error { sent <- line; return nil }})
		err := c.Receive(line)
		c.Close(nil)
		select {
		case reply := <-sent:
			if err != nil || !json.Valid(reply) {
				t.Errorf("%q is answered with %q, and its error is %v", line, reply, err)
			}
		default:
		}
	})
}
