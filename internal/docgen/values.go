package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// values are the expressions of the constants of a package and of the defaults of its
// configuration fields, by name.
type values map[string][]ast.Expr

var (
	errAbsent    = errors.New("no constant and no default of that name")
	errAmbiguous = errors.New("several values of that name")
)

// readPackage parses the Go files of a folder except its tests.
func readPackage(folder string) (values, error) {
	v := values{}
	files, err := os.ReadDir(folder)
	if err != nil {
		return v, err
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, f.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return v, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GenDecl:
				v.addConstants(n)
			case *ast.CallExpr:
				v.addDefault(n)
			}
			return true
		})
	}
	return v, nil
}

func (v values) addConstants(d *ast.GenDecl) {
	if d.Tok != token.CONST {
		return
	}
	for _, s := range d.Specs {
		spec, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range spec.Names {
			if i < len(spec.Values) {
				v[name.Name] = append(v[name.Name], spec.Values[i])
			}
		}
	}
}

// addDefault records the second argument of cmp.Or(c.Field, value).
func (v values) addDefault(call *ast.CallExpr) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Or" || len(call.Args) != 2 {
		return
	}
	if field, ok := call.Args[0].(*ast.SelectorExpr); ok {
		v[field.Sel.Name] = append(v[field.Sel.Name], call.Args[1])
	}
}

// show is the text of a value: a duration such as 5 min, bytes such as 64 KiB when
// size is set, or a number.
func (v values) show(name string, size bool) (string, error) {
	switch len(v[name]) {
	case 0:
		return "", errAbsent
	case 1:
	default:
		return "", errAmbiguous
	}
	value, isDuration, err := v.evaluate(v[name][0])
	if err != nil {
		return "", err
	}
	n, exact := constant.Int64Val(constant.ToInt(value))
	switch {
	case isDuration:
		return durationText(time.Duration(n)), nil
	case !exact:
		f, _ := constant.Float64Val(value)
		return strconv.FormatFloat(f, 'g', -1, 64), nil
	case size:
		return sizeText(n), nil
	}
	return numberText(n), nil
}

var durations = map[string]time.Duration{
	"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
	"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// evaluate computes a constant expression and says whether it is a duration.
func (v values) evaluate(e ast.Expr) (value constant.Value, isDuration bool, err error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), false, nil
	case *ast.ParenExpr:
		return v.evaluate(e.X)
	case *ast.Ident:
		if len(v[e.Name]) == 1 {
			return v.evaluate(v[e.Name][0])
		}
	case *ast.SelectorExpr:
		if d, ok := durations[e.Sel.Name]; ok {
			return constant.MakeInt64(int64(d)), true, nil
		}
	case *ast.BinaryExpr:
		return v.evaluateBinary(e)
	}
	return constant.MakeInt64(0), false, fmt.Errorf("cannot evaluate %T", e)
}

func (v values) evaluateBinary(e *ast.BinaryExpr) (value constant.Value, isDuration bool, err error) {
	x, xTime, errX := v.evaluate(e.X)
	y, yTime, errY := v.evaluate(e.Y)
	if err := errors.Join(errX, errY); err != nil {
		return x, false, err
	}
	if e.Op == token.SHL || e.Op == token.SHR {
		n, _ := constant.Uint64Val(y)
		return constant.Shift(x, e.Op, uint(n)), false, nil
	}
	op := e.Op
	if op == token.QUO {
		op = token.QUO_ASSIGN // integer division
	}
	return constant.BinaryOp(x, op, y), xTime || yTime, nil
}

func durationText(d time.Duration) string {
	for _, u := range []struct {
		name string
		unit time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		if d >= u.unit && d%u.unit == 0 && (u.name != "d" || d > u.unit) {
			return numberText(int64(d/u.unit)) + " " + u.name
		}
	}
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', -1, 64) + " ms"
}

func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		unit int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.unit && n%u.unit == 0 {
			return numberText(n/u.unit) + " " + u.name
		}
	}
	return numberText(n) + " bytes"
}

// numberText groups the digits of a number by thousands.
func numberText(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
