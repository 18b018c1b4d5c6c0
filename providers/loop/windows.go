package loop

import "strings"

// Windows holds the sizes of context windows in tokens, by name of the model or prefix of the
// name.
type Windows map[string]int

// Of returns the size of the model's context window; 0 if unknown.
func (w Windows) Of(model string) int {
	best, window := 0, 0
	for name, n := range w {
		if len(name) > best && (model == name || strings.HasPrefix(model, name+"-")) {
			best, window = len(name), n
		}
	}
	return window
}
