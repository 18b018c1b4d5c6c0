package rest

import (
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// appDataHandlers serve the data of the apps of a user.
type appDataHandlers struct {
	*appHandlers
	// find returns the user and the app of a request that may use the data.
	find func(c echo.Context) (user, app string, err error)
}

// dataOfSession finds the data for routes with a session, whose owner must be the caller: the data of an app belongs to a
// user and not to a session that others see.
func (ah *appHandlers) dataOfSession(c echo.Context) (user, app string, err error) {
	info, err := ah.requests.require(c, access.Viewer)
	if err != nil {
		return "", "", err
	}
	if !isOwner(c, info) {
		return "", "", problem.New(wire.CodeForbidden, "The data of an app is only for the owner of the desktop.")
	}
	if ah.apps == nil {
		return "", "", apps.ErrNotFound
	}
	return info.User, httpio.PathParam(c, "app"), nil
}

// dataOfPage finds the data for a page with a token for one app.
func (ah *appHandlers) dataOfPage(c echo.Context) (user, app string, err error) {
	if ah.apps == nil {
		return "", "", apps.ErrNotFound
	}
	return access.Caller(c).User, access.AppOfPage(c), nil
}

func (d appDataHandlers) list(c echo.Context) error {
	user, app, err := d.find(c)
	if err != nil {
		return err
	}
	names, err := d.apps.ListData(c.Request().Context(), user, app)
	if err != nil {
		return err
	}
	return appDataForm.Answer(c, http.StatusOK, &appData{Files: append([]string{}, names...)})
}

func (d appDataHandlers) get(c echo.Context) error {
	user, app, err := d.find(c)
	if err != nil {
		return err
	}
	data, err := d.apps.ReadData(c.Request().Context(), user, app, httpio.PathParam(c, "*"))
	if errors.Is(err, apps.ErrNotFound) && c.QueryParam("optional") == "true" {
		return c.NoContent(http.StatusNoContent)
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")
	h.Set(echo.HeaderContentDisposition, "attachment")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set(headerETag, quoteETag(apps.DataVersion(data)))
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, data)
}

// dataChanged notifies all tabs of the user, in any session and on any replica.
func (d appDataHandlers) dataChanged(c echo.Context, user, app, name string) {
	if d.settings != nil {
		d.settings.PublishAppData(c.Request().Context(), user, app, name)
	}
}

func (d appDataHandlers) put(c echo.Context) error {
	user, app, err := d.find(c)
	if err != nil {
		return err
	}
	if err := httpio.RequireUncompressed(c.Request()); err != nil {
		return err
	}
	data, err := io.ReadAll(httpio.Body(c, apps.MaxDataFile))
	if err != nil {
		return err
	}
	name := httpio.PathParam(c, "*")
	condition, err := conditionOf(c.Request())
	if err != nil {
		return err
	}
	if condition == (files.Condition{}) {
		err = d.apps.WriteData(c.Request().Context(), user, app, name, data)
	} else {
		err = d.apps.ReplaceData(c.Request().Context(), user, app, name, data, condition.ETag)
	}
	if err != nil {
		return err
	}
	d.dataChanged(c, user, app, name)
	c.Response().Header().Set(headerETag, quoteETag(apps.DataVersion(data)))
	return c.NoContent(http.StatusNoContent)
}

func (d appDataHandlers) remove(c echo.Context) error {
	user, app, err := d.find(c)
	if err != nil {
		return err
	}
	name := httpio.PathParam(c, "*")
	if err := d.apps.RemoveData(c.Request().Context(), user, app, name); err != nil {
		return err
	}
	d.dataChanged(c, user, app, name)
	return c.NoContent(http.StatusNoContent)
}
