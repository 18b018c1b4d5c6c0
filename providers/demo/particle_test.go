package demo_test

import "testing"

// The particle after a quoted text depends on the last sound of the text.
func TestAMissQuotesTheTextWithTheRightParticle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"한글":       "“한글”이라고",
		"나무":       "“나무”라고",
		"나무...":    "“나무...”라고",
		"한글!":      "“한글!”이라고",
		"나무 3":     "“나무 3”이라고",
		"나무 2":     "“나무 2”라고",
		"나무 10":    "“나무 10”이라고",
		"나무 Seoul": "“나무 Seoul”이라고",
		"나무 Tree":  "“나무 Tree”라고",
		"ㅋㅋ":       "“ㅋㅋ”이라고",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d := newDemoSession(t, nil)
			d.has(d.says("m-1", text), want+" 하셨네요")
		})
	}
}
