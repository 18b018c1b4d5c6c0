package adminview_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// secret is a text that must not survive redaction.
const secret = "SECRET"

// maker generates values of all types, with the secret in every text.
type maker struct {
	rand    *rand.Rand
	secrets int
}

func (m *maker) value(s *wire.Shape, depth int) any {
	switch s.Kind {
	case wire.KindBool:
		return m.rand.IntN(2) == 0
	case wire.KindInteger, wire.KindNumber:
		return max(s.Min, min(s.Max, float64(1+m.rand.IntN(9))))
	case wire.KindPosition:
		return "12-3"
	case wire.KindString:
		switch {
		case len(s.Values) > 0:
			return s.Values[m.rand.IntN(len(s.Values))]
		case s.Pattern != "":
			return "id-1"
		}
		return m.text()
	case wire.KindArray:
		if depth <= 0 {
			return []any{}
		}
		list := []any{}
		for range max(1, s.MinLen) {
			list = append(list, m.value(s.Elem, depth-1))
		}
		return list
	case wire.KindMap:
		key, _ := m.value(s.Key, depth).(string)
		return map[string]any{key: m.value(s.Elem, depth-1)}
	case wire.KindObject:
		return m.object(s, depth)
	case wire.KindUnion:
		v := s.Variants[m.rand.IntN(len(s.Variants))]
		o := m.object(v.Shape, depth)
		o[s.Tag] = v.Name
		if v.Name == "" {
			o[s.Tag] = m.text() // it takes every name
		}
		return o
	case wire.KindChoice:
		return m.value(s.Fields[m.rand.IntN(len(s.Fields))].Shape, depth)
	default:
		return map[string]any{m.text(): []string{m.text()}}
	}
}

func (m *maker) object(s *wire.Shape, depth int) map[string]any {
	o := map[string]any{}
	for _, f := range s.Fields {
		if depth > 0 || !f.Optional {
			o[f.Name] = m.value(f.Shape, depth-1)
		}
	}
	return o
}

func (m *maker) text() string {
	m.secrets++
	return secret + strings.Repeat("x", m.rand.IntN(5))
}

func TestNoTextSurvivesRedaction(t *testing.T) {
	t.Parallel()
	types, secrets := 0, 0
	for _, entry := range wire.Events().All() {
		if entry.Direction != wire.FromServer {
			continue
		}
		types++
		made := 0
		for seed := range uint64(60) {
			m := &maker{rand: rand.New(rand.NewPCG(seed, 7))}
			data, err := json.Marshal(m.object(entry.Shape, 6))
			ok(t, err)
			frame := fmt.Appendf(nil, `{"type":%q,"session_id":"ses-1","message_id":"12-4","timestamp":"2026-01-02T03:04:05.006Z","data":%s}`,
				entry.Type, data)
			e, err := wire.Native{}.DecodeEvent(frame)
			if err != nil {
				continue // some rules are about several fields
			}
			made++
			secrets += m.secrets
			red := adminview.Redact(e)
			if bytes.Contains(red, []byte(secret)) {
				t.Fatalf("redacted %s: got %s, want it without the text", entry.Type, red)
			}
			var back struct {
				Type      string          `json:"type"`
				MessageID string          `json:"message_id"`
				Data      json.RawMessage `json:"data"`
			}
			if err := json.Unmarshal(red, &back); err != nil || back.Type != entry.Type || back.MessageID != "12-4" || back.Data[0] != '{' {
				t.Fatalf("redacted %s: got %s, error %v, want the same type at 12-4 with an object as data", entry.Type, red, err)
			}
		}
		if made == 0 {
			t.Errorf("events of type %s: got none, want at least one", entry.Type)
		}
	}
	if types < 30 || secrets < 1000 {
		t.Errorf("redacted: got %d types and %d texts, want at least 30 and 1000", types, secrets)
	}
}

func TestRedactionKeepsWhatIsNoText(t *testing.T) {
	t.Parallel()
	got := string(adminview.Redact(wire.Event{
		Session: "ses-1", At: wire.Position{Epoch: 5, Seq: 6}, Time: time.UnixMilli(1000).UTC(),
		Data: wire.AgentResponse{
			Delta: "héllo", IsComplete: true, Outcome: wire.OutcomeFailed, Reason: "my key is 1234",
			Usage: &wire.Usage{InputTokens: 7}, AgentID: "main-monitor-0", MonitorID: "monitor-0",
		},
	}))
	for _, want := range []string{
		`"type":"AGENT_RESPONSE"`, `"session_id":"ses-1"`, `"message_id":"5-6"`, `"delta":"‹5 characters›"`, `"isComplete":true`,
		`"outcome":"failed"`, `"reason":"‹14 characters›"`, `"inputTokens":7`, `"agentId":"main-monitor-0"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
}

// The name of an unknown renderer is free text.
func TestADetailHasNoTextInItsRenderers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := start(t, openStore(t), "a")
		handle := a.opened(t, "ses-1")
		create := func(id wire.WindowID, c wire.Content) wire.Action {
			return wire.WindowCreate{WindowID: id, Title: secret, Bounds: wire.Bounds{X: 1, Y: 2, W: 300, H: 200}, Content: c}
		}
		_, err := handle.DeliverAndWait(t.Context(), session.Command{From: session.Sender{User: "ada"}, Message: wire.Message{ID: "m1", Data: wire.Emit{
			Actions: []wire.Action{
				create("w1", wire.OtherContent{Renderer: secret, Data: json.RawMessage(`{}`)}),
				create("w2", wire.HTMLContent{Data: secret}),
			},
		}}})
		ok(t, err)
		d, err := a.Detail(t.Context(), "ses-1")
		ok(t, err)
		text, err := json.Marshal(d.Redacted())
		ok(t, err)
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("redacted detail: got %s, want it without the text", text)
		}
		if len(d.Windows) != 2 || d.Windows[0].Renderer != "other" || d.Windows[1].Renderer != "html" {
			t.Errorf("windows: got %+v, want the renderers other and html", d.Windows)
		}
	})
}
