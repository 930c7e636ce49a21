package cost

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var pets = []string{"bird", "cat", "deer", "dog"}

func TestExpressions(t *testing.T) {
	for _, c := range []struct {
		expr  string
		names []string
		want  string // canonical
	}{
		{"3->*", nil, "3->*"},
		{"2->*;3->*", nil, "2->*;3->*"},
		{"3->1", nil, "3->1"},
		{" 3 -> 2, 1 ,0 ", nil, "3->*"},
		{"3->2:1,1:10", nil, "3->1:10,2:1"},
		{"3->2:2.50", nil, "3->2:2.5"},
		{"3->*:2", nil, "3->0:2,1:2,2:2"},
		{"3->0;3->1", nil, "3->0,1"},
		{"cat->dog", pets, "1->3"},
		{"cat->dog:10,0;1->deer", pets, "1->0:1,2:1,3:10"},
	} {
		m, err := ParseExpr(c.expr, 4, c.names)
		if err != nil {
			t.Errorf("%q: %v", c.expr, err)
			continue
		}
		if got := m.String(); got != c.want {
			t.Errorf("%q reads as %q, want %q", c.expr, got, c.want)
		}
		again, err := ParseExpr(m.String(), 4, c.names)
		if err != nil || again.String() != m.String() {
			t.Errorf("%q does not read back: %v", m.String(), err)
		}
	}
}

func TestAccessors(t *testing.T) {
	m, err := ParseExpr("cat->dog:10,bird:1;deer->*", 4, pets)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Omega(1), []int{0, 3}) || len(m.Omega(0)) != 0 || m.Sensitive(0) || !m.Sensitive(2) {
		t.Errorf("Omega(1) = %v, Omega(0) = %v", m.Omega(1), m.Omega(0))
	}
	if m.At(1, 3) != 10 || m.At(3, 1) != 0 || m.RowMax(1) != 11 || m.Pairs() != 5 || m.Classes() != 4 {
		t.Errorf("At, RowMax, Pairs: %v %v %v %v", m.At(1, 3), m.At(3, 1), m.RowMax(1), m.Pairs())
	}
	if k, err := m.Class("dog"); k != 3 || err != nil {
		t.Errorf("Class(dog) = %d, %v", k, err)
	}
	want := `      bird  cat  deer  dog
bird     -    ·     ·    ·
cat      1    -     ·   10
deer     1    1     -    1
dog      ·    ·     ·    -
`
	if got := m.Table(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
}

func TestExpressionErrors(t *testing.T) {
	for _, c := range []struct {
		expr  string
		names []string
		want  string
	}{
		{"", nil, "want from->to"},
		{"3", nil, "want from->to"},
		{"3->", nil, "a class is missing"},
		{"->3", nil, "a class is missing"},
		{"3->1;", nil, "want from->to"},
		{"3->7", nil, "unknown class 7: there are 4 classes, 0 to 3"},
		{"-1->2", nil, "unknown class -1"},
		{"cat->dog", nil, "the classes have no names here"},
		{"cat->cow", pets, `unknown class "cow": the classes are bird, cat, deer, dog`},
		{"3->3", nil, "a right answer has no cost"},
		{"3->1,1", nil, "the pair 3->1 is given twice"},
		{"3->*;3->1:5", nil, "the pair 3->1 is given twice"},
		{"3->1:0", nil, "above 0"},
		{"3->1:-2", nil, "above 0"},
		{"3->1:NaN", nil, "finite"},
		{"3->1:inf", nil, "finite"},
		{"3->1:x", nil, `the cost "x"`},
		{"3->1", []string{"a", "b"}, "2 class names for 4 classes"},
		{"3->1", []string{"a", "b", "a", "c"}, "two classes are named"},
	} {
		_, err := ParseExpr(c.expr, 4, c.names)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q in it", c.expr, err, c.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error of several lines", c.expr)
		}
	}
}

const square = "0,1,0\n0,0,0\n2,0,0\n"

func TestFiles(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, c := range []struct {
		name, text string
		names      []string
		want       string
	}{
		{"plain.csv", square, nil, "0->1;2->0:2"},
		{"spaces.csv", "# truth down\n 0, 1 ,0\r\n0,0,0\r\n2,0,0", abc, "0->1;2->0:2"},
		{"bom.csv", "\ufeff" + square, nil, "0->1;2->0:2"},
		{"header.csv", "a,b,c\n" + square, nil, "0->1;2->0:2"},
		{"both.csv", "truth,a,b,c\na,0,1,0\nb,0,0,0\nc,2,0,0\n", abc, "0->1;2->0:2"},
		{"corner.csv", ",a,b,c\na,0,1,0\nb,0,0,0\nc,2,0,0\n", abc, "0->1;2->0:2"},
		{"nocorner.csv", "a,b,c\na,0,1,0\nb,0,0,0\nc,2,0,0\n", abc, "0->1;2->0:2"},
		{"column.csv", "a,0,1,0\nb,0,0,0\nc,2,0,0\n", abc, "0->1;2->0:2"},
		{"order.csv", "c,b,a\n0,0,2\n0,0,0\n0,1,0\n", abc, "0->1;2->0:2"},
		{"rows.json", "[[0,1,0],[0,0,0],[2,0,0]]", nil, "0->1;2->0:2"},
		{"named.json", `{"classes":["c","b","a"],"costs":[[0,0,2],[0,0,0],[0,1,0]]}`, abc, "0->1;2->0:2"},
		{"nameless.JSON", `{"costs":[[0,1,0],[0,0,0],[2,0,0]]}`, abc, "0->1;2->0:2"},
	} {
		path := write(t, c.name, c.text)
		m, err := Parse(path, 3, c.names)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := m.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		} else if c.names != nil && !slices.Equal(m.Names(), c.names) {
			t.Errorf("%s: names %v", c.name, m.Names())
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFileErrors(t *testing.T) {
	abc := []string{"a", "b", "c"}
	for _, c := range []struct{ name, text, want string }{
		{"m.csv", "0,1\n0,0,0\n0,0,0\n", "line 1: the matrix is not square: 2 costs in this row, 3 rows"},
		{"m.csv", "0,1\n1,0\n", "the matrix is for 2 classes, the data has 3"},
		{"m.csv", "0,-1,0\n0,0,0\n0,0,0\n", "cost of a->b is -1; it must not be negative"},
		{"m.csv", "0,NaN,0\n0,0,0\n0,0,0\n", "cost of a->b is NaN; it must be a finite number"},
		{"m.csv", "0,+Inf,0\n0,0,0\n0,0,0\n", "finite number"},
		{"m.csv", "0,1,0\n0,3,0\n0,0,0\n", "the diagonal must be 0"},
		{"m.csv", "0,0,0\n0,0,0\n0,0,0\n", "no sensitive pair"},
		{"m.csv", "0,0,0\n0,0,x\n0,0,0\n", `line 2, field 3: "x" is not a number`},
		{"m.csv", "a,b,c\na,0,1,0\nb,0,0,y\nc,0,0,0\n", `line 3, field 4: "y" is not a number`},
		{"m.csv", "a,b,d\n" + square, `the matrix has no class "c": its classes are a, b, d`},
		{"m.csv", ",a,b,c\na,0,1,0\nc,0,0,0\nb,2,0,0\n", "first line and of the first column differ"},
		{"m.csv", "", "the matrix is empty"},
		{"m.csv", "0,\"1,0\n", "line"},
		{"m.json", "[[0,1,0],[0,0,0]]", "the matrix is for 2 classes, the data has 3"},
		{"m.json", "[[0,1,0],[0,0],[0,0,0]]", "not square: row b has 2 entries"},
		{"m.json", "[[0,-1,0],[0,0,0],[0,0,0]]", "must not be negative"},
		{"m.json", "[[0,1,0],\n[0,0,0],\n[0,null,\"q\"]]", "line 3"},
		{"m.json", `{"cost":[[0]]}`, "unknown field"},
		{"m.json", "[[0,1,0],[0,0,0],[0,0,0]] []", "text after the matrix"},
		{"m.json", "", "line 1"},
		{"m.txt", square, "neither a .csv or .json file nor an expression"},
	} {
		path := write(t, c.name, c.text)
		_, err := Parse(path, 3, abc)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q in it", c.text, err, c.want)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%q: the error does not name the file: %v", c.text, err)
		}
	}
	if _, err := Parse("nowhere.csv", 3, nil); err == nil || !strings.Contains(err.Error(), "nowhere.csv") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestImmutable(t *testing.T) {
	rows := [][]float64{{0, 1}, {0, 0}}
	m, err := New(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows[0][1] = 7
	if m.At(0, 1) != 1 {
		t.Error("the matrix follows a change of its source")
	}
	if _, err := New(nil, nil); err == nil {
		t.Error("an empty matrix is taken")
	}
}

// valid holds for every matrix that got through.
func valid(t *testing.T, m *Matrix) {
	t.Helper()
	if m.Pairs() == 0 {
		t.Error("no sensitive pair")
	}
	for y := range m.Classes() {
		if m.At(y, y) != 0 || slices.Contains(m.Omega(y), y) {
			t.Errorf("class %d has a cost on the diagonal", y)
		}
		for _, k := range m.Omega(y) {
			if !(m.At(y, k) > 0 && !math.IsInf(m.At(y, k), 1)) {
				t.Errorf("cost %v in Omega", m.At(y, k))
			}
		}
	}
	again, err := ParseExpr(m.String(), m.Classes(), nil)
	if err != nil {
		t.Fatalf("%q does not read back: %v", m.String(), err)
	}
	if again.String() != m.String() || m.Table() == "" {
		t.Errorf("%q reads back as %q", m.String(), again.String())
	}
}

func FuzzParseExpr(f *testing.F) {
	for _, s := range []string{"3->*", "2->*;4->*", "3->2:1,4:1,5:10", "cat->dog", "a->b:1e308", "1->0:5e-324"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := ParseExpr(s, 6, []string{"a", "b", "cat", "dog", "e:5", "*"}); err == nil {
			valid(t, m)
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	f.Add([]byte(square))
	f.Add([]byte("truth,a,b,c\na,0,1,0\nb,0,0,0\nc,2,0,0\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, err := ReadCSV(raw, 3, nil); err == nil {
			valid(t, m)
		}
	})
}

func FuzzReadJSON(f *testing.F) {
	f.Add([]byte("[[0,1,0],[0,0,0],[2,0,0]]"))
	f.Add([]byte(`{"classes":["c","b","a"],"costs":[[0,0,2],[0,0,0],[0,1,0]]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, err := ReadJSON(raw, 3, []string{"a", "b", "c"}); err == nil {
			valid(t, m)
		}
	})
}
