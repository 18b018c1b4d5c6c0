package demo

import (
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// buildWindow is the id of the window that shows a build. buildStep is the time between two
// updates: ten actions in half a minute are well below the budget of a background monitor.
const (
	buildWindow = "build"
	buildStep   = 2800 * time.Millisecond
)

// build returns the steps of a simulated build, which end with a notification.
func (w words) build() []step {
	at := []int{0, 8, 21, 35, 48, 63, 78, 91, 100}
	log := strings.Split("$ make release|fetch    214 modules|compile  core|compile  desktop|lint     0 warnings|test     412 passed|test     38 end to end|pack     linux amd64, arm64|done     signed, 24.6 MB", "|")
	show := func(n int) []object {
		state := badge(w.in("running", "진행 중"), "info")
		colour := "default"
		if n == len(at)-1 {
			state, colour = badge(w.in("passed", "성공"), "success"), "success"
		}
		return []object{
			heading(w.in("Build 1,284", "빌드 1,284")), state, bar(w.in("Release 2.4", "버전 2.4"), at[n], colour),
			{"type": "text", "content": strings.Join(log[:n+1], "\n"), "variant": "code"},
		}
	}
	steps := []step{
		think(w.in("I look every few seconds and keep one window up to date. That costs little, as it should in the background.",
			"몇 초마다 살펴보고 창 하나만 새로 고칠게요. 백그라운드에서는 이렇게 조금만 써야 해요.")),
		say(w.in("I am watching the build. Do something else meanwhile; I tell you when it has finished.",
			"빌드를 지켜볼게요. 그동안 다른 일을 하셔도 돼요. 끝나면 알려 드릴게요.")),
		call(panel(buildWindow, w.in("Build", "빌드"), 1, spot{24, 24, 520, 420}, show(0)...)),
	}
	for n := 1; n < len(at); n++ {
		steps = append(steps, pause(buildStep), call(renew(buildWindow, 1, show(n)...)))
	}
	return append(
		steps,
		call(providers.ToolCall{Name: "window_show_notification", Input: input(map[string]string{
			"id": buildWindow, "title": w.in("Build finished", "빌드가 끝났어요"), "icon": "✅",
			"body": w.in("Build 1,284 passed: 450 tests, no warnings.", "빌드 1,284: 시험 450개 통과, 경고 없음."),
		})}),
		say(w.in("The build has finished: 450 tests pass and there are no warnings.", "빌드가 끝났어요. 시험 450개가 모두 통과했고 경고는 없어요.")),
	)
}
