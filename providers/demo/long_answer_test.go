package demo_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// The long answer announces its words, and wherever it is cut off, the stored part and what is said
// afterwards are the whole answer.
func TestTheLongAnswerContinuesWithTheParagraphThatIsMissing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"Write a long answer while I pull the plug", "전원을 뽑는 동안 긴 답을 써 줘"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDemoSession(t, nil)
				began := time.Now()
				whole := d.says("m-1", text)
				if took := time.Since(began); took < 4*time.Second {
					t.Errorf("the answer takes %v, want at least 4 s to pull the plug", took)
				}
				head, rest, _ := strings.Cut(whole, "\n")
				announced, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(head))
				if got := len(strings.Fields(rest)); err != nil || got != announced {
					t.Errorf("%q is followed by %d words", head, got)
				}
				for n := 1; n < len(d.entries); n++ {
					cut := d.entries[:n]
					var stored strings.Builder
					for _, e := range cut {
						if e.Role == providers.RoleAssistant {
							fmt.Fprint(&stored, e.Blocks[0].Text)
						}
					}
					next := goOn(t, cut)
					if got := stored.String() + next.said("m-1"); got != whole {
						t.Errorf("cut after %d entries, the answer is\n%s\nwant\n%s", n, got, whole)
					}
				}
				if len(d.entries) != 5 {
					t.Errorf("the conversation has %d entries, want the message and four paragraphs", len(d.entries))
				}
			})
		})
	}
}
