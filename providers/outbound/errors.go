package outbound

import (
	"cmp"
	"errors"
	"fmt"
)

// CodeAddress is the code of an [AddressError] in answers to clients.
const CodeAddress = "address_refused"

// defaultSetting lists servers of models.
const defaultSetting = "--provider-hosts"

// AddressError means that a server has an address that users may not reach.
type AddressError struct {
	// Host is the name or address that the user chose.
	Host  string
	Class Class
	// Setting is the one with which an operator can list the server.
	Setting string
}

// Error implements error.
func (e *AddressError) Error() string {
	return fmt.Sprintf("%s: the address of %.100s is %s; an operator can list it in %s", CodeAddress, e.Host, e.Class, cmp.Or(e.Setting, defaultSetting))
}

// Errors of responses.
var (
	// ErrTooLarge means that a body has more bytes than allowed.
	ErrTooLarge = errors.New("the answer of the server is too large")
	// ErrRedirect means that a server redirects to another server or too often.
	ErrRedirect = errors.New("the server redirects to another server")
)
