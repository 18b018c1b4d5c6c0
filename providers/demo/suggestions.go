package demo

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// suggestionsWindow is the id of the window with requests that users click.
const suggestionsWindow = "suggestions"

// suggestions answers messages that no rule knows, and pressed suggestions.
type suggestions struct{ words }

// missed returns the steps for a text that no rule knows: an honest answer, and three suggestions to
// click. Without a tool for windows, or for clients without a screen, the suggestions are only in the
// answer.
func (w suggestions) missed(text string) []step {
	text = shorten(text, 200)
	said := fmt.Sprintf(w.in("You said: “%[1]s”. I am the demo: no AI model answers here, and none of my rules knows this. Type help to see what I know, or pick one of these:",
		"“%[1]s”%[2]s 하셨네요. 저는 데모라서 AI 모델 없이 정해진 말만 알아들어요. 도움이라고 쓰시면 제가 아는 말을 보여 드려요. 아니면 이 가운데 하나를 골라 보세요:"), text, quoted(text))
	ideas := w.ideas(utf8.RuneCountInString(text))
	steps := []step{say(said + "\n- " + strings.Join(ideas, "\n- "))}
	if _, ok := w.tools["window_create_component"]; ok && saysScreen.MatchString(w.spec.System) {
		steps = append(steps, call(panel(suggestionsWindow, w.in("Suggestions", "추천"), 1, spot{width: 320, height: 300}, w.suggestionButtons(ideas)...)))
	}
	return steps
}

// ideas returns three requests that the demo knows. Those that the user has not tried come first; seed
// varies them.
func (w suggestions) ideas(seed int) (ideas []string) {
	var fresh, known []string
	for _, i := range intents {
		if w.newest(i.name) == 0 {
			fresh = append(fresh, w.in(i.requests[0], i.requests[1]))
		} else {
			known = append(known, w.in(i.requests[0], i.requests[1]))
		}
	}
	for _, from := range [][]string{fresh, known} {
		for n := 0; len(ideas) < 3 && n < len(from); n++ {
			// 11 has no divisor in common with the usual lengths, so the three are far apart.
			if idea := from[(seed+11*n)%len(from)]; !slices.Contains(ideas, idea) {
				ideas = append(ideas, idea)
			}
		}
	}
	return ideas
}

// suggestionButtons returns a heading and the requests as buttons. A button's action is its request.
func (w suggestions) suggestionButtons(ideas []string) []object {
	components := []object{heading(w.in("Try one of these", "이런 건 어떠세요?"))}
	for n, idea := range ideas {
		look := "secondary"
		if n == 0 {
			look = "primary"
		}
		components = append(components, button(idea, idea, look))
	}
	return append(components, caption(w.in("I am a demo without a model: these I can do.", "저는 모델이 없는 데모예요. 이런 건 할 수 있어요.")))
}

// suggested returns the steps for a pressed suggestion: what it asks for, and other suggestions in its
// window. It returns nil if the action is no suggestion.
func (w suggestions) suggested(action string) []step {
	for n, i := range intents {
		if !slices.Contains(i.requests[:], action) {
			continue
		}
		w.content, w.korean = action, isKorean(action)
		steps := windowCommands(w).opening(askedKinds(action))
		if _, ok := w.tools["window_update_component"]; ok && windowCommands(w).isOpen(suggestionsWindow) {
			steps = append(steps, call(renew(suggestionsWindow, 1, w.suggestionButtons(w.ideas(n+1))...)))
		}
		return steps
	}
	return nil
}
