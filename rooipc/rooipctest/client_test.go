package rooipctest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/rooipc/rooipctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// These are the messages of a server that the client of Roo-Code was seen to drop or to deliver.
func TestClientRefusesWhatThatOfRooCodeDrops(t *testing.T) {
	t.Parallel()
	event := func(data string) string {
		return `{"type":"message","data":{"type":"TaskEvent","origin":"server","data":` + data + `}}`
	}
	row := func(fields string) string {
		return event(`{"eventName":"message","payload":[{"taskId":"T","action":"created","message":{"ts":1,"type":"say",` + fields + `}}]}`)
	}
	const usage = `{"totalTokensIn":1,"totalTokensOut":1,"totalCost":0,"contextTokens":2}`
	for name, c := range map[string]struct {
		frame string
		drops bool
	}{
		"Ack":                      {`{"type":"message","data":{"type":"Ack","origin":"server","data":{"clientId":"a","pid":1,"ppid":2}}}`, false},
		"Ack without ppid":         {`{"type":"message","data":{"type":"Ack","origin":"server","data":{"clientId":"a","pid":1}}}`, true},
		"task id that is a text":   {event(`{"eventName":"taskCreated","payload":["T"],"taskId":"T"}`), true},
		"additional keys":          {`{"type":"message","data":{"type":"TaskEvent","origin":"server","seq":"1-2","data":{"eventName":"taskCreated","payload":["T"]}}}`, false},
		"foreign relayClientId":    {`{"type":"message","data":{"type":"TaskEvent","origin":"server","relayClientId":"x","data":{"eventName":"taskCreated","payload":["T"]}}}`, false},
		"unknown event":            {event(`{"eventName":"taskFlew","payload":["T"]}`), true},
		"taskUserMessage":          {event(`{"eventName":"taskUserMessage","payload":["T"]}`), true},
		"modeChanged":              {event(`{"eventName":"modeChanged","payload":["code"]}`), true},
		"taskSpawned of one":       {event(`{"eventName":"taskSpawned","payload":["T"]}`), true},
		"one element too many":     {event(`{"eventName":"taskCreated","payload":["T","U"]}`), true},
		"unknown say":              {row(`"say":"kernel_status","text":"x"`), true},
		"images null":              {row(`"say":"text","text":"x","images":null`), true},
		"metadata":                 {row(`"say":"text","text":"x","metadata":{"a":1}`), false},
		"checkpoint":               {row(`"say":"checkpoint_saved","text":"x","checkpoint":{"from":"a","to":"b"}`), false},
		"unknown tool in usage":    {event(`{"eventName":"taskTokenUsageUpdated","payload":["T",` + usage + `,{"fly":{"attempts":1,"failures":0}}]}`), true},
		"known tool in usage":      {event(`{"eventName":"taskTokenUsageUpdated","payload":["T",` + usage + `,{"custom_tool":{"attempts":1,"failures":0}}]}`), false},
		"unknown tool that failed": {event(`{"eventName":"taskToolFailed","payload":["T","fly","no"]}`), true},
		"taskCompleted of three":   {event(`{"eventName":"taskCompleted","payload":["T",` + usage + `,{}]}`), true},
		"taskCompleted":            {event(`{"eventName":"taskCompleted","payload":["T",` + usage + `,{},{"isSubtask":false}]}`), false},
		"queue":                    {event(`{"eventName":"queuedMessagesUpdated","payload":["T",[{"timestamp":1,"id":"a","text":"b"}]]}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var client rooipctest.Client
			if err := client.Apply([]byte(c.frame)); (err != nil) != c.drops {
				t.Errorf("error %v, want it refused: %v", err, c.drops)
			}
		})
	}
	var client rooipctest.Client
	for _, id := range []string{"first", "second"} {
		if err := client.Apply([]byte(`{"type":"message","data":{"type":"Ack","origin":"server","data":{"clientId":"` + id + `","pid":1,"ppid":2}}}`)); err != nil || client.ID != id {
			t.Errorf("id %q after the Ack of %q, error %v, want that id", client.ID, id, err)
		}
	}
}
