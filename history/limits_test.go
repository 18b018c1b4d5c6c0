package history_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits history.Limits
		tokens int
		want   history.Action
	}{
		"the window is not known":         {history.Limits{Threshold: 80}, 1 << 40, history.Leave},
		"nothing":                         {history.Limits{Window: 100_000, Threshold: 80}, 0, history.Leave},
		"just below the threshold":        {history.Limits{Window: 100_000, Threshold: 80}, 79_999, history.Leave},
		"at the threshold":                {history.Limits{Window: 100_000, Threshold: 80}, 80_000, history.Condense},
		"over what is allowed":            {history.Limits{Window: 100_000, Threshold: 100}, 81_809, history.Condense},
		"just what is allowed":            {history.Limits{Window: 100_000, Threshold: 100}, 81_808, history.Leave},
		"never condensed, over":           {history.Limits{Window: 100_000}, 81_809, history.Truncate},
		"never condensed, below":          {history.Limits{Window: 100_000}, 81_808, history.Leave},
		"an answer that needs more":       {history.Limits{Window: 100_000, Reserve: 40_000}, 50_001, history.Truncate},
		"an answer that needs less":       {history.Limits{Window: 100_000, Reserve: 1000}, 88_999, history.Leave},
		"a small window":                  {history.Limits{Window: 4000}, 2600, history.Leave},
		"a small window, over":            {history.Limits{Window: 4000}, 2601, history.Truncate},
		"a large window":                  {history.Limits{Window: 2_000_000, Threshold: 90}, 1_799_999, history.Condense},
		"a large window, below":           {history.Limits{Window: 2_000_000, Threshold: 90}, 1_791_808, history.Leave},
		"a low threshold":                 {history.Limits{Window: 100_000, Threshold: 5}, 5000, history.Condense},
		"condensing failed, not over yet": {history.Limits{Window: 100_000}, 80_000, history.Leave},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.limits.Decide(c.tokens); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	say := func(blocks ...providers.Block) int {
		return history.Tokens([]providers.Entry{{Role: providers.RoleUser, Blocks: blocks}})
	}
	words := providers.Block{Kind: providers.BlockText, Text: strings.Repeat("word ", 80)}
	korean := providers.Block{Kind: providers.BlockText, Text: strings.Repeat("말", 400)}
	picture := providers.Block{Kind: providers.BlockImage, Image: &providers.Image{Data: make([]byte, 1<<20)}}
	called := providers.Block{Kind: providers.BlockToolCall, Input: []byte(`{"a":"` + words.Text + `"}`)}
	seen := providers.Block{Kind: providers.BlockToolResult, Images: []providers.Image{*picture.Image, *picture.Image}}
	if n := history.Tokens(nil); n != 0 {
		t.Errorf("no entries have %d tokens, want 0", n)
	}
	for name, c := range map[string]struct{ got, least, most int }{
		"an empty message":   {say(), 1, 10},
		"four hundred bytes": {say(words), 100, 120},
		"as many letters":    {say(korean), 400, 420},
		"a picture":          {say(picture), 1000, 2000},
		"a call":             {say(called), 100, 130},
		"two pictures":       {say(seen), 2000, 4000},
		"all of it":          {say(words, korean, picture), say(words) + say(korean) + say(picture) - 10, say(words) + say(korean) + say(picture)},
	} {
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s has %d, want %d to %d", name, c.got, c.least, c.most)
		}
	}
}
