package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// planWindow is the id of the window with the whole plan. Each task opens a window of its own.
const planWindow = "launch-plan"

// job is one of the tasks of a launch.
type job struct {
	name string
	// thought is the agent's thinking at the beginning, done its text at the end.
	thought, done string
	stages        []stage
}

// stage is a part of a job and its duration.
type stage struct {
	name string
	wait time.Duration
}

// launchScene plays the launch that task agents prepare.
type launchScene struct{ words }

func (w launchScene) jobs() []job {
	if w.korean {
		return []job{
			{
				"시장 조사", "누가 살지, 얼마를 낼지, 경쟁 제품은 무엇인지 알아볼게요.", "세 고객층 가운데 베란다 정원사가 가장 크고, 적정 가격은 89,000원이에요.",
				[]stage{{"고객 인터뷰 12건 정리", 1800 * time.Millisecond}, {"경쟁 제품 5개 비교", 2200 * time.Millisecond}, {"가격 검토", 1900 * time.Millisecond}, {"결과 요약", 1400 * time.Millisecond}},
			},
			{
				"웹사이트", "첫 화면, 주문, 도움말이 필요하겠어요. 빠르고 단순하게 만들게요.", "네 쪽이 준비됐고 0.8초 안에 열려요. 남은 것은 사진 두 장이에요.",
				[]stage{{"페이지 구성", 1500 * time.Millisecond}, {"글 다듬기", 2600 * time.Millisecond}, {"주문 화면 만들기", 2400 * time.Millisecond}, {"휴대전화에서 확인", 1900 * time.Millisecond}},
			},
			{
				"보도 자료", "기자가 바로 쓸 수 있는 한 쪽짜리 글과 사진이면 좋겠어요.", "보도문 한 쪽과 사진 여섯 장이 준비됐고, 기자 24명 명단도 있어요.",
				[]stage{{"핵심 문장 쓰기", 2100 * time.Millisecond}, {"사진 고르기", 1600 * time.Millisecond}, {"기자 명단 정리", 2300 * time.Millisecond}, {"마지막 교정", 1700 * time.Millisecond}},
			},
		}
	}
	return []job{
		{
			"Market research", "Who would buy it, for how much, and what else is there? I go through the interviews first.", "Of three groups, balcony gardeners are the largest; the right price is € 79.",
			[]stage{{"Read 12 interviews", 1800 * time.Millisecond}, {"Compare 5 competitors", 2200 * time.Millisecond}, {"Check the price", 1900 * time.Millisecond}, {"Sum it up", 1400 * time.Millisecond}},
		},
		{
			"Website", "A front page, an order page and some help. It should be fast and plain.", "Four pages are ready and open within 0.8 s; two photos are still missing.",
			[]stage{{"Sketch the pages", 1500 * time.Millisecond}, {"Write the copy", 2600 * time.Millisecond}, {"Build the order page", 2400 * time.Millisecond}, {"Try it on a phone", 1900 * time.Millisecond}},
		},
		{
			"Press kit", "One page that a journalist can use as it is, and good pictures.", "One page and six pictures are ready, with a list of 24 journalists.",
			[]stage{{"Find the headline", 2100 * time.Millisecond}, {"Choose pictures", 1600 * time.Millisecond}, {"List journalists", 2300 * time.Millisecond}, {"Read it once more", 1700 * time.Millisecond}},
		},
	}
}

// launch returns the steps of a scene that shows a plan and runs a task agent for each job,
// concurrently.
func (w launchScene) launch() []step {
	jobs := w.jobs()
	tasks := step{kind: stepCall, after: tellErrors, then: w.launched}
	for n := range jobs {
		tasks.calls = append(tasks.calls, providers.ToolCall{Name: "task_run", Input: input(map[string]string{
			"profile": "default",
			"objective": fmt.Sprintf(w.in("Launch task %d of %d: %s. Show in a window how far you are.", "출시 작업 %d/%d: %s. 진행 상황을 창으로 보여 줘."),
				n+1, len(jobs), jobs[n].name),
		})})
	}
	waiting := make([]object, 0, len(jobs))
	for range jobs {
		waiting = append(waiting, badge(w.in("working", "진행 중"), "info"))
	}
	return []step{
		think(w.in(
			"A launch has parts that do not need each other: research, website, press. Three task agents can work on them at the same time; I put their results together.",
			"출시 준비에는 서로 기다릴 필요가 없는 일이 있어요. 조사, 웹사이트, 보도 자료요. 작업 에이전트 셋이 동시에 일하고, 저는 결과를 모을게요.",
		)),
		say(w.in("I split the launch into three tasks that run at the same time.", "출시 준비를 동시에 진행할 수 있는 작업 세 개로 나눴어요.")),
		call(panel(planWindow, w.in("Launch plan", "출시 계획"), []float64{2, 1, 3}, spot{24, 24, 992, 176}, w.planned(waiting, nil)...)),
		pause(400 * time.Millisecond),
		tasks,
	}
}

// planned returns the components of the plan's window: each job with its state and result.
func (w launchScene) planned(how []object, found []string) []object {
	var components []object
	for n, j := range w.jobs() {
		what := caption(w.in("its agent has a window of its own", "에이전트가 따로 창을 열고 일해요"))
		if n < len(found) {
			what = plainText(found[n])
		}
		components = append(components, object{"type": "text", "content": j.name, "variant": "subheading"}, how[n], what)
	}
	return components
}

// launched returns the steps that show the results of the tasks.
func (w launchScene) launched(outcomes []outcome) []step {
	jobs := w.jobs()
	how, found, good := []object{}, []string{}, 0
	for n, j := range jobs {
		if n >= len(outcomes) || outcomes[n].result.IsError {
			how, found = append(how, badge(w.in("stopped", "중단됨"), "error")), append(found, w.in("It did not get to its end.", "끝까지 가지 못했어요."))
			continue
		}
		how, found, good = append(how, badge(w.in("done", "완료"), "success")), append(found, j.done), good+1
	}
	lines := []string{fmt.Sprintf(w.in("%d of %d tasks are done:", "작업 %[2]d개 가운데 %[1]d개를 마쳤어요."), good, len(jobs))}
	for n, j := range jobs {
		lines = append(lines, "- **"+j.name+":** "+found[n])
	}
	return []step{call(renew(planWindow, []float64{2, 1, 3}, w.planned(how, found)...)), say(strings.Join(lines, "\n"))}
}

var jobNumber = regexp.MustCompile(`\d+`)

// launchTask returns the steps of one task agent.
func (w launchScene) launchTask() []step {
	jobs := w.jobs()
	n, err := strconv.Atoi(jobNumber.FindString(w.content))
	if err != nil || n < 1 || n > len(jobs) {
		return []step{say(w.in("There is no such task.", "그런 작업은 없어요."))}
	}
	j, id := jobs[n-1], fmt.Sprintf("launch-%d", n)
	at := spot{24 + (n-1)*336, 216, 320, 380}
	steps := []step{think(j.thought), call(panel(id, j.name, 1, at, w.progress(j, 0)...))}
	for done, s := range j.stages {
		steps = append(steps, pause(s.wait), call(renew(id, 1, w.progress(j, done+1)...)))
	}
	return append(steps, say(j.done))
}

// progress returns the components of a job's window after the given number of stages.
func (w launchScene) progress(j job, done int) []object {
	state, colour := badge(w.in("working", "진행 중"), "info"), "default"
	if done == len(j.stages) {
		state, colour = badge(w.in("done", "완료"), "success"), "success"
	}
	components := []object{state, caption(j.thought), bar(w.in("Progress", "진행률"), done*100/len(j.stages), colour)}
	for n, s := range j.stages {
		switch {
		case n < done:
			components = append(components, object{"type": "text", "content": "✓ " + s.name, "color": "success"})
		case n == done:
			components = append(components, object{"type": "text", "content": "› " + s.name + " …", "color": "accent"})
		default:
			components = append(components, object{"type": "text", "content": "· " + s.name, "color": "muted"})
		}
	}
	if done == len(j.stages) {
		components = append(components, plainText(j.done))
	}
	return components
}
