// Package docs holds nothing but the test that keeps the documents true.
package docs

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The package table of design.md says what each package may import. This test
// compares it with what each one does import, both ways: a package without a
// row, a row without a package and an import that the row does not allow.
func TestPackageTableIsTrue(t *testing.T) {
	rows := packageTable(t)
	list := exec.Command("go", "list", "-json=ImportPath,Imports", "lorica/...")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, "lorica/")
		if name == "docs" || strings.Contains(name, "/internal/") {
			continue
		}
		allowed, ok := rows[name]
		if !ok {
			t.Errorf("design.md has no row for package %s", name)
			continue
		}
		delete(rows, name)
		for _, path := range p.Imports {
			if group := groupOf(path); group != "" && group != name && !slices.Contains(allowed, group) && !slices.Contains(allowed, "all") {
				t.Errorf("package %s imports %s, which its row in design.md does not allow", name, path)
			}
		}
	}
	for name := range rows {
		t.Errorf("design.md has a row for package %s, which is not there", name)
	}
}

// groupOf is the word the table uses for an import; "" is the standard library
// and what the table does not speak of.
func groupOf(path string) string {
	for prefix, group := range map[string]string{
		"github.com/gomlx/":  "GoMLX",
		"gonum.org/v1/gonum": "gonum",
		"gonum.org/v1/plot":  "gonum/plot",
		"github.com/nats-io": "NATS",
		"golang.org/x/image": "x/image",
	} {
		if strings.HasPrefix(path, prefix) {
			return group
		}
	}
	if rest, ok := strings.CutPrefix(path, "lorica/"); ok && !strings.Contains(path, "/internal/") {
		return rest
	}
	return ""
}

// packageTable reads the rows of design.md's package table.
func packageTable(t *testing.T) map[string][]string {
	text, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|[^|]+\\|([^|]+)\\|$")
	rows := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		var allowed []string
		for _, word := range strings.Split(m[2], ",") {
			if word = strings.TrimSpace(word); word != "-" {
				allowed = append(allowed, word)
			}
		}
		rows[m[1]] = allowed
	}
	if len(rows) < 5 {
		t.Fatalf("design.md's package table has %d rows that this test can read", len(rows))
	}
	return rows
}
