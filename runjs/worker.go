package runjs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/dop251/goja"

	"github.com/everdesk/everdesk/internal/worker"
)

// Bounds inside a worker.
const (
	// maxHeap bounds the memory of the code in bytes; more ends the worker.
	maxHeap = 128 << 20
	// maxData bounds the memory that the worker maps, with what the Go runtime needs itself.
	maxData = maxHeap*4 + 256<<20
	// maxStack bounds the stack of the interpreter in bytes, and maxCalls the depth of calls.
	maxStack = 64 << 20
	maxCalls = 2_000
	// maxConsole bounds what is kept of the console, in bytes.
	maxConsole = 64 << 10
	// graceTimeout is how long an interrupted script has to end. Parts of the interpreter, such as
	// regular expressions, cannot be interrupted.
	graceTimeout = 200 * time.Millisecond
)

// Work reads a script from in, runs it and writes the result to out. It is the main function of a
// worker and returns the exit code.
func Work(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(50)
	data, err := io.ReadAll(io.LimitReader(in, MaxCode*6+MaxInput+1024)) // JSON may need six bytes for one
	var r request
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil {
		err = worker.Limit(maxData, r.Timeout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return worker.ExitFailure
	}
	stop := make(chan struct{})
	go watchMemory(stop)
	answer := run(r)
	close(stop)
	if err := json.NewEncoder(out).Encode(answer); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return worker.ExitFailure
	}
	return 0
}

// watchMemory ends the process when the heap is too large. The limit of the system is higher and
// meant for single allocations that are huge.
func watchMemory(stop <-chan struct{}) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		metrics.Read(sample)
		if sample[0].Value.Uint64() > maxHeap {
			os.Exit(worker.ExitMemory)
		}
	}
}

// errTimedOut is the value of an interrupt.
var errTimedOut = errors.New("timed out")

// run executes a script.
func run(r request) reply {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxCalls)
	kill := time.AfterFunc(r.Timeout+graceTimeout, func() { os.Exit(worker.ExitTimeout) })
	defer kill.Stop()
	interrupt := time.AfterFunc(r.Timeout, func() { vm.Interrupt(errTimedOut) })
	defer interrupt.Stop()
	c := &console{left: maxConsole}
	var answer reply
	err := guard(func() error {
		value, err := execute(vm, c, r)
		if err != nil {
			return err
		}
		answer.Value, err = export(vm, value)
		return err
	})
	answer.Console = c.lines
	interrupted, _ := errors.AsType[*goja.InterruptedError](err)
	deep, _ := errors.AsType[*goja.StackOverflowError](err)
	switch {
	case interrupted != nil:
		answer.TimedOut = true
	case deep != nil:
		answer.Exception = tooDeep
	case err != nil:
		answer.Exception = describe(err)
	}
	return answer
}

// tooDeep is the exception of code that recurses too deeply.
const tooDeep = "RangeError: the code recurses too deeply"

// guard calls f and returns its error. Reading a value may run code of the script, and the
// interpreter panics if that throws or is interrupted.
func guard(f func() error) (err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case error:
			err = v
		default:
			err = fmt.Errorf("%v", v)
		}
	}()
	return f()
}

// execute runs the code and waits for a promise that it returns.
func execute(vm *goja.Runtime, c *console, r request) (goja.Value, error) {
	if err := vm.Set("console", c.object(vm)); err != nil {
		return nil, err
	}
	if len(r.Input) > 0 {
		parse, _ := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("parse"))
		input, err := parse(goja.Undefined(), vm.ToValue(string(r.Input)))
		if err != nil {
			return nil, err
		}
		if err := vm.Set("input", input); err != nil {
			return nil, err
		}
	}
	program, err := compile(r.Code)
	if err != nil {
		return nil, err
	}
	value, err := vm.RunProgram(program)
	if err != nil {
		return nil, err
	}
	object, ok := value.(*goja.Object)
	if !ok || object.ExportType() != reflect.TypeFor[*goja.Promise]() {
		return value, nil
	}
	promise, ok := object.Export().(*goja.Promise)
	if !ok {
		return value, nil
	}
	switch promise.State() {
	case goja.PromiseStateFulfilled:
		return promise.Result(), nil
	case goja.PromiseStateRejected:
		return nil, errors.New(describeValue(promise.Result()))
	default:
		return nil, errors.New("the promise is never settled: there are no timers and no network here")
	}
}

// compile compiles code whose value is that of its last statement. Code that returns or awaits
// something outside a function becomes the body of an async function.
func compile(code string) (*goja.Program, error) {
	program, err := goja.Compile("code.js", code, false)
	if err == nil {
		return program, nil
	}
	if body, bodyErr := goja.Compile("code.js", "(async () => {"+code+"\n})()", false); bodyErr == nil {
		return body, nil
	}
	return nil, err
}

// describe returns the text of an error with the place where it happened, if that is known.
func describe(err error) string {
	if e, ok := errors.AsType[*goja.Exception](err); ok {
		return bounded(e.String(), 4_000)
	}
	return bounded(err.Error(), 4_000)
}

// describeValue returns a thrown value as text, with its stack if it has one.
func describeValue(v goja.Value) string {
	if o, ok := v.(*goja.Object); ok {
		if stack := o.Get("stack"); stack != nil && !goja.IsUndefined(stack) {
			return stack.String()
		}
	}
	return v.String()
}

// export returns a value as JSON. What JSON lacks becomes text, except undefined.
func export(vm *goja.Runtime, v goja.Value) (json.RawMessage, error) {
	if v == nil || goja.IsUndefined(v) {
		return nil, nil
	}
	if goja.IsNaN(v) || goja.IsInfinity(v) {
		return json.Marshal(v.String())
	}
	stringify, _ := goja.AssertFunction(vm.Get("JSON").ToObject(vm).Get("stringify"))
	text, err := stringify(goja.Undefined(), v)
	if err != nil {
		if _, ok := errors.AsType[*goja.InterruptedError](err); ok {
			return nil, err
		}
		return json.Marshal(v.String()) // BigInt, or a cycle
	}
	if goja.IsUndefined(text) { // a function or a symbol
		return json.Marshal(v.String())
	}
	if len(text.String()) > maxOutput-maxConsole*2 {
		return nil, fmt.Errorf("the result has more than %d bytes", maxOutput-maxConsole*2)
	}
	return json.RawMessage(text.String()), nil
}

// console keeps what the code writes.
type console struct {
	lines []string
	left  int
	once  sync.Once
}

// object returns the console as the code sees it.
func (c *console) object(vm *goja.Runtime) *goja.Object {
	o := vm.NewObject()
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		prefix := map[string]string{"warn": "warning: ", "error": "error: "}[name]
		_ = o.Set(name, func(call goja.FunctionCall) goja.Value { // a new object takes every property
			c.write(vm, prefix, call.Arguments)
			return goja.Undefined()
		})
	}
	return o
}

// write adds a line.
func (c *console) write(vm *goja.Runtime, prefix string, args []goja.Value) {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.String()
		if o, ok := a.(*goja.Object); ok && o.ClassName() != "Error" {
			if text, err := export(vm, a); err == nil {
				parts[i] = string(text)
			}
		}
	}
	line := prefix + strings.Join(parts, " ")
	if len(line) > c.left {
		c.once.Do(func() { c.lines = append(c.lines, "(more was written, but not kept)") })
		c.left = 0
		return
	}
	c.left -= len(line) + 1
	c.lines = append(c.lines, line)
}

// bounded returns the beginning of a text.
func bounded(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
