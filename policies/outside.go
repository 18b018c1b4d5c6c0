package policies

import (
	"fmt"
	"strings"
	"unicode"
)

// outsideTag encloses data from outside the hub.
const outsideTag = "outside_data"

// OutsideData returns text from outside the hub, such as the answer of a server, for a prompt: in a tag that
// names its source. Tags of the vocabulary inside are neutralized.
func OutsideData(source, text string) string { return enclose(source, Neutralize(text)) }

// ExactOutsideData is [OutsideData] for text that agents edit and write back, such as files: only the
// enclosing tag is neutralized in it.
func ExactOutsideData(source, text string) string {
	return enclose(source, Tags{outsideTag: true}.Neutralize(text))
}

func enclose(source, text string) string {
	return fmt.Sprintf("<%s source=\"%s\">\n%s\n</%s>", outsideTag, EscapeAttribute(source), text, outsideTag)
}

// IsAppInteraction reports whether a message comes from the page in a window.
func IsAppInteraction(text string) bool {
	for text != "" {
		name, _, rest, ok := cutGesture(strings.TrimLeftFunc(text, unicode.IsSpace))
		if !ok {
			return false
		}
		if name == "app_interaction" {
			return true
		}
		text = rest
	}
	return false
}
