package openai_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
)

// Inputs of tools arrive in many pieces, which count like text.
func TestHiddenPartsAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	for api, piece := range map[openai.Dialect]string{
		openai.Chat:      `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"win","arguments":"` + big + `"}}]}}]}`,
		openai.Responses: `{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"win","arguments":"` + big + `"}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			k := open(t, openai.Config{Dialect: api}, providers.Spec{})
			k.fake.Next(fakemodel.Raw(strings.Repeat("data: "+piece+"\n\n", 3)))
			f, _ := errors.AsType[*providers.Failure](k.turn("go").Err)
			if f == nil || f.Class != providers.Invalid {
				t.Errorf("%s: the turn ended with %v, want class %s", api, f, providers.Invalid)
			}
		})
	}
}
