package demo

import (
	"fmt"
	"strings"
	"time"
)

// The time between two words of the long answer. Words of Korean are fewer and longer.
const (
	wordInterval       = 70 * time.Millisecond
	koreanWordInterval = 110 * time.Millisecond
)

// longAnswer returns the answer of the tour during which the hub is killed. Its first line announces the
// number of words that follow, so that a client can count what it got. Each paragraph is stored once it
// is complete, so a turn that was cut off continues with the paragraph that is not.
func (w words) longAnswer() []step {
	count, interval := 0, wordInterval
	if w.korean {
		interval = koreanWordInterval
	}
	var steps []step
	for _, p := range longAnswer {
		text := w.in(p[0], p[1])
		count += len(strings.Fields(text))
		steps = append(steps, step{kind: stepRecite, text: text, wait: interval}, step{kind: stepStore})
	}
	return append([]step{say(fmt.Sprintf(w.in("I answer with %d words, one by one:", "낱말 %d개로 하나씩 답할게요."), count))}, steps...)
}

// longAnswer are the paragraphs of that answer in English and Korean.
var longAnswer = [][2]string{
	{
		"A hub keeps your desktop, and a hub is only a process. " +
			"Processes die: machines lose power, memory runs out, somebody types kill. " +
			"So nothing that matters may live in memory alone.",
		"허브는 데스크톱을 지키고, 그 허브는 하나의 프로세스일 뿐이에요. " +
			"프로세스는 언젠가 죽어요. 전원이 나가고, 메모리가 모자라고, 누군가 kill을 입력하죠. " +
			"그래서 중요한 것은 메모리에만 두지 않아요.",
	},
	{
		"Every event is written to the log before anybody sees it. " +
			"What you see on the screen is therefore already safe. " +
			"When the process dies, your tab notices and keeps what it has.",
		"모든 이벤트는 누군가 보기 전에 먼저 로그에 기록돼요. " +
			"그러니 화면에 보이는 것은 이미 안전하게 저장된 거예요. " +
			"프로세스가 죽으면 탭이 알아차리고, 가진 것을 그대로 지켜요.",
	},
	{
		"It tells the next process the last position that it saw. " +
			"That process reads the log, finds this answer unfinished, and continues it.",
		"그리고 다음 프로세스에게 마지막으로 본 위치를 알려 줘요. " +
			"새 프로세스는 로그를 읽고, 끝나지 않은 이 답을 찾아 이어서 써요.",
	},
	{
		"No word comes twice, no word is missing, and nobody has to ask again. " +
			"Your windows stay where they were, and so do your questions. " +
			"If you can read this sentence, all of it has worked.",
		"두 번 나오는 낱말도, 빠진 낱말도 없고, 다시 부탁할 필요도 없어요. " +
			"창은 제자리에 있고, 대기 중인 질문도 그대로예요. " +
			"이 문장을 읽고 있다면 모두 잘 된 거예요.",
	},
}
