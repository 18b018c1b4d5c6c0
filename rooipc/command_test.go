package rooipc_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/wire"
)

func frame(data string) string {
	return `{"type":"message","data":{"type":"TaskCommand","origin":"client","clientId":"c1","data":` + data + `}}`
}

func TestCommands(t *testing.T) {
	t.Parallel()
	start := func(configuration string) string {
		return frame(`{"commandName":"StartNewTask","data":{"configuration":` + configuration + `,"text":"hi"}}`)
	}
	for name, c := range map[string]struct {
		frame string
		want  rooipc.Command
	}{
		"cancel":           {frame(`{"commandName":"CancelTask"}`), rooipc.Command{Name: rooipc.CancelTask}},
		"cancel with data": {frame(`{"commandName":"CancelTask","data":"x"}`), rooipc.Command{Name: rooipc.CancelTask}},
		"close":            {frame(`{"commandName":"CloseTask"}`), rooipc.Command{Name: rooipc.CloseTask}},
		"resume":           {frame(`{"commandName":"ResumeTask","data":"ses-1"}`), rooipc.Command{Name: rooipc.ResumeTask, Target: "ses-1"}},
		"resume after": {
			frame(`{"commandName":"ResumeTask","data":"ses-1","seq":"5-7"}`),
			rooipc.Command{Name: rooipc.ResumeTask, Target: "ses-1", After: wire.Position{Epoch: 5, Seq: 7}},
		},
		"send":          {frame(`{"commandName":"SendMessage","data":{"text":"hi"}}`), rooipc.Command{Name: rooipc.SendMessage, Text: "hi"}},
		"send with id":  {frame(`{"commandName":"SendMessage","data":{"text":"hi"},"messageId":"m1"}`), rooipc.Command{Name: rooipc.SendMessage, Text: "hi", MessageID: "m1"}},
		"send nothing":  {frame(`{"commandName":"SendMessage","data":{}}`), rooipc.Command{Name: rooipc.SendMessage}},
		"send pictures": {frame(`{"commandName":"SendMessage","data":{"images":["data:image/png;base64,AA=="]}}`), rooipc.Command{Name: rooipc.SendMessage, Images: []string{"data:image/png;base64,AA=="}}},
		"delete":        {frame(`{"commandName":"DeleteQueuedMessage","data":"m1"}`), rooipc.Command{Name: rooipc.DeleteQueuedMessage, Target: "m1"}},
		"modes":         {frame(`{"commandName":"GetModes"}`), rooipc.Command{Name: rooipc.GetModes}},
		"start":         {start(`{}`), rooipc.Command{Name: rooipc.StartNewTask, Text: "hi"}},
		"unknown keys":  {start(`{"apiModelId":"x","zoom":3}`), rooipc.Command{Name: rooipc.StartNewTask, Text: "hi"}},
		"mode":          {start(`{"mode":"code"}`), rooipc.Command{Name: rooipc.StartNewTask, Text: "hi", Mode: "code"}},
		"rules": {start(`{"autoApprovalEnabled":true,"allowedCommands":["*"],"allowedMaxRequests":null}`), rooipc.Command{
			Name: rooipc.StartNewTask, Text: "hi", Approval: &wire.AutoApproval{AutoApprovalEnabled: true, AllowedCommands: []string{"*"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok, err := rooipc.ParseCommand([]byte(c.frame))
			c.want.ClientID = "c1"
			if diff := cmp.Diff(c.want, got); !ok || err != nil || diff != "" {
				t.Errorf("ok %v, error %v, want the command; -want +got:\n%s", ok, err, diff)
			}
		})
	}
}

func TestBadCommandsAreRefusedWithTheirField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ frame, field string }{
		"no JSON":        {"nonsense", ""},
		"a list":         {"[]", ""},
		"data is a text": {`{"type":"message","data":"x"}`, "data"},
		"data is null":   {`{"type":"message","data":null}`, "data"},
		"another type":   {`{"type":"message","data":{"type":"Ack","origin":"client","clientId":"a","data":{}}}`, "type"},
		"of the server":  {`{"type":"message","data":{"type":"TaskCommand","origin":"server","clientId":"a","data":{}}}`, "origin"},
		"no client":      {`{"type":"message","data":{"type":"TaskCommand","origin":"client","data":{"commandName":"CancelTask"}}}`, "clientId"},
		"no command":     {frame(`{"commandName":"Fly"}`), "data"},
		"no id":          {frame(`{"commandName":"ResumeTask"}`), "data"},
		"a number":       {frame(`{"commandName":"ResumeTask","data":7}`), "data"},
		"bad seq":        {frame(`{"commandName":"ResumeTask","data":"a","seq":"x"}`), "seq"},
		"text is null":   {frame(`{"commandName":"SendMessage","data":{"text":null}}`), "data.text"},
		"images":         {frame(`{"commandName":"SendMessage","data":{"images":[7]}}`), "data.images"},
		"image of a URL": {frame(`{"commandName":"SendMessage","data":{"images":["https://a/b.png"]}}`), "data.images"},
		"no text":        {frame(`{"commandName":"StartNewTask","data":{"configuration":{}}}`), "data.text"},
		"no settings":    {frame(`{"commandName":"StartNewTask","data":{"text":"a"}}`), "data.configuration"},
		"yes is no bool": {frame(`{"commandName":"StartNewTask","data":{"text":"a","configuration":{"autoApprovalEnabled":"yes"}}}`), "data.configuration.autoApprovalEnabled"},
		"rule is null":   {frame(`{"commandName":"StartNewTask","data":{"text":"a","configuration":{"alwaysAllowMcp":null}}}`), "data.configuration.alwaysAllowMcp"},
		"negative limit": {frame(`{"commandName":"StartNewTask","data":{"text":"a","configuration":{"allowedMaxCost":-1}}}`), "data.configuration.allowedMaxCost"},
		"empty command":  {frame(`{"commandName":"StartNewTask","data":{"text":"a","configuration":{"allowedCommands":[""]}}}`), "data.configuration.allowedCommands"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ok, err := rooipc.ParseCommand([]byte(c.frame))
			bad, is := errors.AsType[*rooipc.InputError](err)
			if ok || !is || bad.Field != c.field {
				t.Errorf("ok %v, error %v, want one of the field %q", ok, err, c.field)
			}
		})
	}
}

func TestEventsOfNodeIPCItselfAreIgnored(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"connect", "socket.disconnected", "error", ""} {
		_, ok, err := rooipc.ParseCommand([]byte(`{"type":"` + name + `","data":{}}`))
		if ok || err != nil {
			t.Errorf("event %q: ok %v, error %v, want it ignored", name, ok, err)
		}
	}
}
