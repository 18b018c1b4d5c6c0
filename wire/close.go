package wire

import "slices"

// CloseCode is the code a WebSocket is closed with. Error codes are not used for it,
// because RFC 6455 reserves or forbids many of their numbers.
type CloseCode int

// The close codes in use; [CloseCodes] explains them.
const (
	CloseNormal       CloseCode = 1000
	CloseGoingAway    CloseCode = 1001
	CloseUnsupported  CloseCode = 1003
	CloseInvalidText  CloseCode = 1007
	CloseTooBig       CloseCode = 1009
	CloseRestart      CloseCode = 1012
	CloseBadMessages  CloseCode = 4400
	CloseUnauthorized CloseCode = 4401
	CloseForbidden    CloseCode = 4403
	CloseNotFound     CloseCode = 4404
	CloseTooSlow      CloseCode = 4408
	ClosePositionLost CloseCode = 4409
	CloseExpired      CloseCode = 4410
	CloseLoggedOut    CloseCode = 4411
	CloseExpelled     CloseCode = 4412
	CloseRateLimited  CloseCode = 4429
	CloseInternal     CloseCode = 4500
	CloseDraining     CloseCode = 4503
)

// Reconnect is the reaction of our clients to a close.
type Reconnect string

// What clients do after a close.
const (
	ReconnectNever   Reconnect = "never"   // closed on purpose, or retrying is wrong
	ReconnectUser    Reconnect = "user"    // only after the user changed something
	ReconnectNow     Reconnect = "now"     // immediately
	ReconnectLater   Reconnect = "later"   // after the retry_after in the reason
	ReconnectBackoff Reconnect = "backoff" // after an increasing random delay
)

// CloseInfo describes a close code.
type CloseInfo struct {
	Code      CloseCode
	Meaning   string
	Reconnect Reconnect
	// Note is a further detail, such as what else the client does, or empty.
	Note string
}

var closeCodes = [...]CloseInfo{
	{CloseNormal, "normal end", ReconnectNever, ""},
	{CloseGoingAway, "the page leaves", ReconnectNever, ""},
	{CloseUnsupported, "a frame was not text", ReconnectBackoff, "does not send that frame again"},
	{CloseInvalidText, "a frame was not UTF-8", ReconnectBackoff, "does not send that frame again"},
	{CloseTooBig, "a frame was too big", ReconnectBackoff, "does not send that frame again"},
	{CloseRestart, "the server restarts", ReconnectBackoff, ""},
	{CloseBadMessages, "five bad messages in a minute", ReconnectNever, "stops and shows it"},
	{CloseUnauthorized, "not signed in", ReconnectUser, "refreshes its token once"},
	{CloseForbidden, "not allowed", ReconnectUser, ""},
	{CloseNotFound, "no such session", ReconnectUser, ""},
	{CloseTooSlow, "too slow three times in a minute", ReconnectNow, ""},
	{ClosePositionLost, "the position was lost", ReconnectNow, ""},
	{CloseExpired, "the session has expired", ReconnectUser, ""},
	{CloseLoggedOut, "the user signed out", ReconnectUser, ""},
	{CloseExpelled, "an administrator closed the connection", ReconnectUser, ""},
	{CloseRateLimited, "too many messages or connections", ReconnectLater, "the reason holds retry_after in seconds"},
	{CloseInternal, "an error on our side", ReconnectBackoff, ""},
	{CloseDraining, "the replica shuts down", ReconnectBackoff, "a reconnect event with after_ms came first"},
}

// CloseCodes returns the table of close codes.
func CloseCodes() []CloseInfo { return slices.Clone(closeCodes[:]) }

// Info describes the code. For an unknown code, such as that of a lost connection, a client
// retries.
func (c CloseCode) Info() CloseInfo {
	for _, info := range closeCodes {
		if info.Code == c {
			return info
		}
	}
	return CloseInfo{Code: c, Meaning: "the connection was lost", Reconnect: ReconnectBackoff}
}
