package demo

import (
	"strings"
	"unicode"
)

// quoted returns the particle 이라고 or 라고 that follows a quoted text. It depends on the last sound of the text, as the
// text is read in Korean: marks are not read, digits have Korean names.
func quoted(text string) string {
	if endsInConsonant(strings.TrimRightFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })) {
		return "이라고"
	}
	return "라고"
}

// firstSyllable and lastSyllable enclose the Hangul syllables. They are in groups of finals with the same beginning; the
// first of a group has no final consonant.
const (
	firstSyllable, lastSyllable = '가', '힣'
	finals                      = 28
)

// endsInConsonant reports whether the last sound of a text is a consonant.
func endsInConsonant(text string) bool {
	runes := []rune(strings.ToLower(text))
	if len(runes) == 0 {
		return false
	}
	switch last := runes[len(runes)-1]; {
	case last >= firstSyllable && last <= lastSyllable:
		return (last-firstSyllable)%finals != 0
	case last >= 'ㄱ' && last <= 'ㅎ': // the name of a consonant, such as 기역, ends in one
		return true
	case unicode.IsDigit(last):
		return strings.ContainsRune("013678", last) // 영 일 삼 육 칠 팔
	default:
		// An English word that ends in another consonant is mostly written with a vowel after it, as 노트.
		return strings.ContainsRune("lmn", last) || strings.HasSuffix(text, "ng")
	}
}
