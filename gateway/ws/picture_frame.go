package ws

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/wire"
)

const (
	// pictureWait bounds how long a message with pictures waits for others, and pictureTime how long a
	// client may take to send one.
	pictureWait = 10 * time.Second
	pictureTime = time.Minute
	// maxDiscarded bounds a frame that is read only to refuse it.
	maxDiscarded = 4 * pictures.MaxMessage
)

// refusedFrameError is the error for a frame with which the client may go on.
type refusedFrameError struct {
	code   wire.Code
	reason string
	rest   []byte // the message without its pictures, nil if it is not known
}

// Error implements error.
func (e *refusedFrameError) Error() string { return e.reason }

// readPictures reads the rest of a frame that has begun with more bytes than a frame may have, because
// of its pictures. It scales them and passes the frame, which then has an ordinary size, to handle. The
// buffer grows with the data that has arrived.
func (f *frameReader) readPictures(r io.Reader, begun []byte, handle func(frame []byte)) error {
	wait, cancel := context.WithTimeout(context.Background(), pictureWait)
	defer cancel()
	release, err := f.link.resources.fitter.Acquire(wait)
	if err != nil {
		return discard(r, len(begun), &refusedFrameError{wire.CodeRateLimited, "too many pictures arrive at once", nil})
	}
	defer release()
	f.peer.limitRead(time.Now().Add(pictureTime))
	defer f.peer.limitRead(time.Time{})
	frame, err := appendFrame(r, slices.Clone(begun), pictures.MaxMessage)
	switch {
	case errors.Is(err, errFrameTooBig):
		reason := fmt.Sprintf("a message with pictures has at most %d MiB", pictures.MaxMessage>>20)
		return discard(r, len(frame), &refusedFrameError{wire.CodeMessageTooLarge, reason, nil})
	case err != nil:
		return err
	case !utf8.Valid(frame):
		return errInvalidText()
	}
	resume := f.link.stopReading()
	fitted, err := f.link.resources.fitter.Fit(context.Background(), frame)
	resume()
	if bad, ok := errors.AsType[*pictures.Error](err); ok {
		return &refusedFrameError{wire.CodeInvalidMessage, bad.Reason, pictures.Without(frame)}
	}
	if err != nil {
		return fmt.Errorf("scale pictures: %w", err)
	}
	if int64(len(fitted)) > f.limit+pictures.MaxEncoded {
		return errFrameTooBig // also without its pictures
	}
	handle(fitted)
	return nil
}

// discard reads the rest of a refused frame, of which so many bytes were read, without keeping it. It
// returns the refusal, or an error if the client must not go on.
func discard(r io.Reader, had int, refused *refusedFrameError) error {
	switch n, err := io.Copy(io.Discard, io.LimitReader(r, int64(maxDiscarded-had))); {
	case err != nil:
		return fmt.Errorf("discard a frame: %w", err)
	case n >= int64(maxDiscarded-had):
		return errFrameTooBig
	}
	return refused
}

// rejectFrame reports a refused frame to the client, and reports whether err was one.
func (c *conn) rejectFrame(err error) bool {
	refused, ok := errors.AsType[*refusedFrameError](err)
	if !ok {
		return false
	}
	e := &wire.Error{Code: refused.code, Message: refused.reason}
	if m, err := c.peer.decode(refused.rest); err == nil {
		e.Ref = m.ID
	}
	c.inbox.rejectMalformed(e)
	return true
}
