package turntext

import "strings"

// truncationMark ends the text of a row that is a truncated beginning of its text.
const truncationMark = " […]"

// Rest returns the end of a text that is in no row yet. The text begins with that of one of the rows, or after
// the last: the thinking of a turn that was restarted does not contain what rows have from before.
func Rest(text string, rows []string) string {
	for i := range rows {
		if rest, ok := cutRows(text, rows[i:]); ok {
			return rest
		}
	}
	if n := len(rows); n > 0 { // the first rows may be missing
		if i := strings.LastIndex(text, rows[n-1]); i >= 0 {
			return text[i+len(rows[n-1]):]
		}
	}
	return text
}

func cutRows(text string, rows []string) (rest string, ok bool) {
	for _, row := range rows {
		if rest, ok = strings.CutPrefix(text, row); ok {
			text = rest
			continue
		}
		begin, isTruncated := strings.CutSuffix(row, truncationMark)
		return "", isTruncated && strings.HasPrefix(text, begin) // where the row ends in the text is unknown
	}
	return text, true
}
