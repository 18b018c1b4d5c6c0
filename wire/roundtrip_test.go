package wire_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/wire"
)

// checkLine fails unless a frame is one line of JSON.
func checkLine(t fatal, frame []byte) {
	t.Helper()
	if !json.Valid(frame) || bytes.ContainsAny(frame, "\n\r") {
		t.Fatalf("frame is not one line of JSON: %s", frame)
	}
}

func TestMessagesSurviveBothDialects(t *testing.T) {
	t.Parallel()
	eachEntry(t, wire.FromClient, func(t *rapid.T, e wire.Entry) {
		first := encode(t, drawFrame(t, e))
		m, err := wire.Native{}.DecodeMessage(first)
		if err != nil {
			t.Fatalf("decode %s: %v", first, err)
		}
		for name, d := range map[string]wire.Dialect{"native": wire.Native{}, "desktop": wire.Desktop{}} {
			frame := d.AppendMessage(nil, m)
			checkLine(t, frame)
			again, err := d.DecodeMessage(frame)
			if err != nil {
				t.Fatalf("%s: decode %s: %v", name, frame, err)
			}
			if !reflect.DeepEqual(again, m) {
				t.Fatalf("%s: %s\nbecame %+v\nwant %+v", name, frame, again, m)
			}
		}
	})
}

func TestEventsSurviveBothDialects(t *testing.T) {
	t.Parallel()
	eachEntry(t, wire.FromServer, func(t *rapid.T, e wire.Entry) {
		first := encode(t, drawFrame(t, e))
		event, err := wire.Native{}.DecodeEvent(first)
		if err != nil {
			t.Fatalf("decode %s: %v", first, err)
		}
		frame := wire.AppendEvent(nil, event)
		checkLine(t, frame)
		again, err := wire.Native{}.DecodeEvent(frame)
		if err != nil {
			t.Fatalf("decode %s: %v", frame, err)
		}
		if !reflect.DeepEqual(again, event) {
			t.Fatalf("%s\nbecame %+v\nwant %+v", frame, again, event)
		}
		checkDesktop(t, e, again)
	})
}

// checkDesktop fails unless an event has the form in the desktop dialect that
// the catalog promises.
func checkDesktop(t *rapid.T, e wire.Entry, event wire.Event) {
	t.Helper()
	frames := wire.Desktop{}.AppendFrames(nil, event)
	for _, frame := range frames {
		checkLine(t, frame)
		flat, err := wire.Desktop{}.DecodeEvent(frame)
		if err != nil {
			t.Fatalf("decode %s: %v", frame, err)
		}
		if want := flatContents(event.Data); e.Desktop == wire.FormFlat && !reflect.DeepEqual(flat.Data, want) {
			t.Fatalf("%s\nbecame %+v\nwant %+v", frame, flat.Data, want)
		}
	}
	switch {
	case e.Desktop == wire.FormNone && len(frames) != 0,
		e.Desktop == wire.FormFlat && len(frames) != 1,
		e.Desktop == wire.FormOwn && len(frames) == 0:
		t.Fatalf("%s: got %d frames in the desktop dialect, want as many as the form %s has", e.Type, len(frames), e.Desktop)
	}
}

// flatContents returns data with what the desktop dialect shows instead of charts,
// checklists and boards.
func flatContents(data wire.ServerPayload) wire.ServerPayload {
	actions, ok := data.(wire.Actions)
	if !ok {
		return data
	}
	actions.Actions = slices.Clone(actions.Actions)
	for i, action := range actions.Actions {
		switch a := action.(type) {
		case wire.WindowCreate:
			a.Content = flatContent(a.Content)
			actions.Actions[i] = a
		case wire.WindowSetContent:
			a.Content = flatContent(a.Content)
			actions.Actions[i] = a
		}
	}
	return actions
}

func flatContent(content wire.Content) wire.Content {
	switch c := content.(type) {
	case wire.ChartContent:
		return wire.TableContent{Data: c.Data.Table()}
	case wire.ComponentContent:
		c.Data.Components = boardsAsTexts(c.Data.Components)
		return c
	}
	return content
}

// boardsAsTexts returns components with a text for every item of a checklist and every card of a board.
func boardsAsTexts(all []wire.Component) (texts []wire.Component) {
	text := func(content string, variant wire.TextVariant) {
		texts = append(texts, wire.TextComponent{Content: content, Variant: variant})
	}
	for _, component := range all {
		switch c := component.(type) {
		case wire.ChecklistComponent:
			if c.Label != "" {
				text(c.Label, wire.TextSubheading)
			}
			for _, item := range c.Items {
				text(map[bool]string{false: "☐ ", true: "☑ "}[item.Done]+item.Text, "")
			}
		case wire.KanbanComponent:
			if c.Label != "" {
				text(c.Label, wire.TextHeading)
			}
			for _, column := range c.Columns {
				text(column.Title, wire.TextSubheading)
				for _, card := range column.Cards {
					note := ""
					if card.Note != "" {
						note = " (" + card.Note + ")"
					}
					text("• "+card.Text+note, "")
				}
			}
		default:
			texts = append(texts, c)
		}
	}
	return texts
}

func TestPeekAgreesWithDecoding(t *testing.T) {
	t.Parallel()
	eachEntry(t, wire.FromServer, func(t *rapid.T, e wire.Entry) {
		event, err := wire.Native{}.DecodeEvent(encode(t, drawFrame(t, e)))
		if err != nil {
			t.Fatalf("decode: %v", err)
		}
		want := wire.Head{
			Type: e.Type, At: event.At, Monitor: wire.MonitorOf(event.Data),
			Agent: wire.AgentOf(event.Data), Message: wire.MessageOf(event.Data),
		}
		if got, ok := wire.Peek(wire.AppendEvent(nil, event)); !ok || got != want {
			t.Fatalf("Peek returns %+v %v, want %+v", got, ok, want)
		}
	})
}
