package demo

import (
	"cmp"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// list is the example of an intent that opens a checklist.
type list struct{ english, korean string }

func listOf(name string) (list, bool) {
	switch name {
	case "todo":
		return list{
			"Answer Mina’s e-mail|Book the train|Water the plants|Call the dentist|Thirty minutes outside",
			"미나 님 메일에 답하기|기차표 예매하기|화분에 물 주기|치과에 전화하기|30분 산책하기",
		}, true
	case "shopping":
		return list{"Milk|Bread|Tomatoes|Coffee|Olive oil|Something sweet", "우유|빵|토마토|커피|올리브유|달콤한 간식"}, true
	case "reading":
		return list{
			"Middlemarch · George Eliot|The Left Hand of Darkness · Ursula K. Le Guin|Invisible Cities · Italo Calvino|The Design of Everyday Things · Don Norman",
			"토지 · 박경리|소나기 · 황순원|보이지 않는 도시들 · 이탈로 칼비노|디자인과 인간 심리 · 도널드 노먼",
		}, true
	case "packing":
		return list{
			"Passport|Charger|Toothbrush|Rain jacket|A good book|Snacks for the train",
			"여권|충전기|칫솔|우비|책 한 권|기차에서 먹을 간식",
		}, true
	}
	return list{}, false
}

// checklist returns the call that opens a checklist with the items of the message, or with an example.
func (w words) checklist(l list, id, title string, at spot) providers.ToolCall {
	given := w.givenList()
	if len(given) == 0 {
		given = strings.Split(w.in(l.english, l.korean), "|")
	}
	items := make([]object, len(given))
	for i, text := range given {
		items[i] = object{"text": text}
	}
	return show(id, title, "component", object{"components": []object{{"type": "checklist", "label": title, "items": items}}}, at)
}

// kanban returns the call that opens a board with the items of the message, or with an example.
func (w words) kanban(id, title string, at spot) providers.ToolCall {
	cards := func(texts string) []object {
		all := []object{}
		for text := range strings.SplitSeq(texts, "|") {
			if text != "" {
				all = append(all, object{"text": text})
			}
		}
		return all
	}
	given := strings.Join(w.givenList(), "|")
	example := func(english, korean string) string {
		if given != "" {
			return ""
		}
		return w.in(english, korean)
	}
	first := cmp.Or(given, example("Collect ideas for the autumn issue|Ask Jonas about the photos", "가을 호 아이디어 모으기|준호 님께 사진 여쭤보기"))
	return show(id, title, "component", object{"components": []object{{"type": "kanban", "columns": []object{
		{"title": w.in("To do", "할 일"), "cards": cards(first)},
		{"title": w.in("Doing", "하는 중"), "cards": cards(example("Write the opening article|Choose the cover", "첫 글 쓰기|표지 고르기"))},
		{"title": w.in("Done", "끝"), "cards": cards(example("Book the printer", "인쇄소 예약하기"))},
	}}}}, at)
}
