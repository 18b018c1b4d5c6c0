package runjs_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/runjs"
)

// runner returns a runner.
func runner(t *testing.T) *runjs.Runner {
	t.Helper()
	return runjs.New(runjs.Config{Path: worker, Runs: 2})
}

func TestValues(t *testing.T) {
	t.Parallel()
	r := runner(t)
	for code, want := range map[string]string{
		`1 + 2`:                              `3`,
		`const a = [1,2]; a.map(x => x * 2)`: `[2,4]`,
		`({a: "é", b: null})`:                `{"a":"é","b":null}`,
		`undefined`:                          ``,
		`let x = 1`:                          ``,
		`return 7`:                           `7`,
		`const v = await Promise.resolve(4); return v + 1`:             `5`,
		`Promise.resolve("later")`:                                     `"later"`,
		`(async () => { await null; return [...new Set([1,1,2])] })()`: `[1,2]`,
		`10n ** 20n`:                             `"100000000000000000000"`,
		`0/0`:                                    `"NaN"`,
		`input.rows.filter(r => r.n > 1).length`: `1`,
		`const {rows: [{n = 5} = {}], ...rest} = input; n ?? 0`:     `1`,
		`"2026-11-17".match(/(?<y>\d+)-(?<m>\d+)/).groups.m`:        `"11"`,
		`class A { #x = 3; get x() { return this.#x } }; new A().x`: `3`,
	} {
		got, err := r.Run(t.Context(), runjs.Script{Code: code, Input: json.RawMessage(`{"rows":[{"n":1},{"n":2}]}`)})
		if err != nil || string(got.Value) != want {
			t.Errorf("%s gives %s and %v, want %s", code, got.Value, err, want)
		}
	}
}

func TestConsole(t *testing.T) {
	t.Parallel()
	r := runner(t)
	got, err := r.Run(t.Context(), runjs.Script{Code: `console.log("a", 1, {b: [true]}); console.warn("w"); console.error(new Error("e")); 1`})
	if want := "a 1 {\"b\":[true]}\nwarning: w\nerror: Error: e"; err != nil || strings.Join(got.Console, "\n") != want {
		t.Errorf("the console has %q (%v), want %q", got.Console, err, want)
	}
	got, err = r.Run(t.Context(), runjs.Script{Code: `for (let i = 0; i < 1e5; i++) console.log("a line of the log"); 1`})
	if err != nil || len(got.Console) > 5000 || !strings.Contains(got.Console[len(got.Console)-1], "not kept") {
		t.Errorf("the console has %d lines (%v), want a part of them and a note", len(got.Console), err)
	}
}

func TestExceptions(t *testing.T) {
	t.Parallel()
	r := runner(t)
	for code, want := range map[string]string{
		`1 +`:                                 "SyntaxError",
		`missing.field`:                       "ReferenceError: missing is not defined",
		`null.x`:                              "TypeError",
		`throw new RangeError("far")`:         "RangeError: far",
		`throw "text"`:                        "text",
		`await Promise.reject(new Error(1))`:  "Error: 1",
		`await new Promise(() => {})`:         "never settled",
		`function f() { return f() + 1 } f()`: "recurses too deeply",
		`"x".repeat(8e5)`:                     "",
		`"x".repeat(2e6)`:                     "bytes",
	} {
		_, err := r.Run(t.Context(), runjs.Script{Code: code})
		e, ok := errors.AsType[*runjs.ExceptionError](err)
		if want == "" && err != nil || want != "" && (!ok || !strings.Contains(e.Text, want)) {
			t.Errorf("%s gives %v, want %q", code, err, want)
		}
	}
	_, err := r.Run(t.Context(), runjs.Script{Code: `console.log("before"); throw 1`})
	if e, ok := errors.AsType[*runjs.ExceptionError](err); !ok || len(e.Console) != 1 {
		t.Errorf("got %+v, want the console before the exception", err)
	}
}

// Code reaches nothing of the machine it runs on.
func TestNothingOfTheHostIsVisible(t *testing.T) {
	t.Setenv("CANARY", "sk-canary")
	r := runner(t)
	for _, name := range []string{
		"process", "require", "module", "exports", "fetch", "XMLHttpRequest", "WebSocket", "setTimeout", "setInterval", "setImmediate", "Deno", "Bun", "WebAssembly", "Worker", "importScripts",
		"window", "document", "navigator", "location", "Buffer", "global", "__dirname", "performance", "crypto", "SharedArrayBuffer", "Atomics",
	} {
		if got, err := r.Run(t.Context(), runjs.Script{Code: "typeof " + name}); err != nil || string(got.Value) != `"undefined"` {
			t.Errorf("%s is %s (%v), want undefined", name, got.Value, err)
		}
	}
	// The usual ways out of a sandbox end at the global object of the interpreter.
	for code, want := range map[string]string{
		`Object.getOwnPropertyNames(globalThis).includes("input")`:                                          `false`,
		`console.log.constructor("return this")() === globalThis`:                                           `true`,
		`typeof this.constructor.constructor("return typeof process")()`:                                    `"string"`,
		`this.constructor.constructor("return typeof process")()`:                                           `"undefined"`,
		`(() => { try { return Function("return this")() === globalThis } catch (e) { return e.name } })()`: `true`,
		`[].constructor.constructor("return typeof require")()`:                                             `"undefined"`,
		`(async () => {}).constructor("return typeof process")() instanceof Promise`:                        `true`,
		`Reflect.ownKeys(console.log).includes("native")`:                                                   `false`,
		`JSON.stringify(new Error().stack).includes("/")`:                                                   `false`,
		`typeof Error.prepareStackTrace`:                                                                    `"undefined"`,
		`try { import("fs") } catch (e) { }; 1`:                                                             `1`,
		`JSON.stringify(Object.getOwnPropertyNames(console).sort())`:                                        `"[\"debug\",\"error\",\"info\",\"log\",\"warn\"]"`,
		`(() => { try { null.f() } catch (e) { return e.constructor.constructor("return 1")() } })()`:       `1`,
	} {
		got, err := r.Run(t.Context(), runjs.Script{Code: code})
		if e, ok := errors.AsType[*runjs.ExceptionError](err); ok && strings.Contains(code, "import(") && strings.Contains(e.Text, "SyntaxError") {
			continue // there is no import at all
		}
		if err != nil || string(got.Value) != want {
			t.Errorf("%s gives %s and %v, want %s", code, got.Value, err, want)
		}
	}
	// A run sees nothing of the one before.
	if _, err := r.Run(t.Context(), runjs.Script{Code: `globalThis.left = 1; Array.prototype.evil = 1; 1`}); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Run(t.Context(), runjs.Script{Code: `[typeof left, typeof [].evil]`}); err != nil || string(got.Value) != `["undefined","undefined"]` {
		t.Errorf("the next run sees %s (%v), want nothing of the one before", got.Value, err)
	}
}

// Code that needs too much is ended, whatever it does.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := runner(t)
	for name, tt := range map[string]struct {
		code string
		want error
	}{
		"endless loop":        {`for (;;) {}`, runjs.ErrTimeout},
		"endless promises":    {`const f = () => { Promise.resolve().then(f) }; f(); await new Promise(() => {})`, runjs.ErrTimeout},
		"regular expression":  {`/^(x+x+)+(?=y)\1$/.test("x".repeat(60) + "!")`, runjs.ErrTimeout},
		"getter of a result":  {`({get x() { for (;;) {} }})`, runjs.ErrTimeout},
		"caught interrupt":    {`for (;;) { try { for (;;) {} } catch (e) { } finally { } }`, runjs.ErrTimeout},
		"growing promises":    {`const f = () => Promise.resolve().then(f); await f()`, runjs.ErrMemory}, // each waits for the next
		"growing array":       {`const a = []; for (;;) a.push({a: [1, 2, 3]})`, runjs.ErrMemory},
		"growing string":      {`let s = "x"; for (;;) s += s + "y"`, nil},
		"one huge string":     {`"x".repeat(2 ** 29).length + "y".repeat(2 ** 29).split("").length`, runjs.ErrMemory},
		"one huge array":      {`new Array(2 ** 27).fill({a: 1}).map(x => ({...x})).length`, runjs.ErrMemory},
		"typed array":         {`const a = []; for (;;) a.push(new Uint8Array(1e8).fill(1))`, runjs.ErrMemory},
		"deep JSON":           {`let o = {}; for (let i = 0; i < 1e6; i++) o = {o}; o`, nil},
		"deep array to text":  {`let a = []; for (let i = 0; i < 1e6; i++) a = [a]; String(a)`, nil},
		"code that is large":  {"/*" + strings.Repeat("x", runjs.MaxCode) + "*/", runjs.ErrTooLarge},
		"deeply nested code":  {strings.Repeat("(", 50_000) + "1" + strings.Repeat(")", 50_000), nil},
		"deeply nested array": {strings.Repeat("[", 100_000), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.Run(t.Context(), runjs.Script{Code: tt.code, Timeout: 2 * time.Second})
			_, thrown := errors.AsType[*runjs.ExceptionError](err)
			switch {
			case errors.Is(tt.want, runjs.ErrMemory) && (thrown || errors.Is(err, runjs.ErrTimeout)): // the code noticed, or was slow
			case tt.want != nil && !errors.Is(err, tt.want):
				t.Errorf("got %v, want %v", err, tt.want)
			case tt.want == nil && err == nil:
				t.Error("got a result, want an error")
			case errors.Is(err, runjs.ErrWorker):
				t.Errorf("got %v, want the reason", err)
			}
		})
	}
}

func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	r := runner(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx, runjs.Script{Code: `for (;;) {}`, Timeout: time.Minute})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	missing := runjs.New(runjs.Config{Path: "/no/such/program"})
	if _, err := missing.Run(t.Context(), runjs.Script{Code: "1"}); !errors.Is(err, runjs.ErrWorker) {
		t.Errorf("a missing worker gives %v, want %v", err, runjs.ErrWorker)
	}
}
