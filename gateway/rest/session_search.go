package rest

import (
	"context"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/session"
)

const (
	// searchedSessions bounds the sessions whose conversations one request reads. A client goes on with the next page.
	searchedSessions = 20
	maxSearchBytes   = 200
	// maxExcerpt bounds the part of a conversation that a result shows, in characters.
	maxExcerpt = 160
)

// search answers with those sessions of a page that have all words of a text in their title or in one task of their
// conversation. It reads the stored index of tasks, so dormant and cold sessions are found without loading them.
func (s *sessionHandlers) search(c echo.Context, me auth.Identity, text, after string, limit int) error {
	if len(text) > maxSearchBytes || !utf8.ValidString(text) {
		return problem.Query("q", "Want up to 200 bytes of UTF-8.")
	}
	ctx := c.Request().Context()
	page, err := s.visible(ctx, me, me.User, after, min(limit, searchedSessions))
	if err != nil {
		return err
	}
	list := sessionList{Sessions: []sessionCard{}, Next: page.Next}
	for _, info := range page.Items {
		card := cardOf(me, info, s.provider)
		found := history.HasWords(info.Title, text)
		if !found && info.Quarantined == "" && access.LevelOf(me, info) >= access.Viewer {
			card.Found, found, err = s.findInConversation(ctx, info, text)
		}
		if err != nil {
			return err
		}
		if found {
			list.Sessions = append(list.Sessions, card)
		}
	}
	return listForm.Answer(c, http.StatusOK, &list)
}

// findInConversation returns the beginning of the newest task of a session that has all words of a text.
func (s *sessionHandlers) findInConversation(ctx context.Context, info session.Info, text string) (excerpt string, found bool, err error) {
	tasks, _, err := s.hub.Tasks(ctx, info.ID, history.TaskQuery{Text: text, Limit: 1})
	if access.IsNotFound(err) { // it was deleted meanwhile
		return "", false, nil
	}
	if err != nil || len(tasks) == 0 {
		return "", false, err
	}
	all := []rune(tasks[0].Task)
	return string(all[:min(len(all), maxExcerpt)]), true, nil
}
