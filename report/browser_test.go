package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"lorica/dataset"
	"lorica/draw"
)

// pictured are the golden runs' examples that lorica carries pictures of,
// under its engine's name, so that their noise can be drawn again.
func pictured(t testing.TB) []*Run {
	t.Helper()
	set, err := dataset.Open("builtin", "")
	if err != nil {
		t.Fatal(err)
	}
	runs := golden(t, Settings{Eps: 0.5})
	for _, r := range runs {
		var keep []int // the labels of the first pictures are those of some records
		for i := range set.Len() {
			for at, rec := range r.Records {
				if rec.Label == set.Label(i) && !slices.Contains(keep, at) {
					keep = append(keep, at)
					break
				}
			}
		}
		records := r.Records
		r.Records = nil
		for i, at := range keep {
			rec := records[at]
			rec.Index = i
			r.Records = append(r.Records, rec)
		}
		r.Header.Data, r.Header.Engine, r.Header.Seed = set.Identity(), "cpu float32", 1<<40+7
		if err := r.certify(Settings{Cost: "cat->*", Eps: 0.5, Names: cifar}, saved{}); err != nil {
			t.Fatal(err)
		}
		if err := r.CheckPictures(set); err != nil {
			t.Fatal(err)
		}
		r.Pictures = set
	}
	return runs
}

// open writes a page and opens it in the browser.
func (b *browser) show(html string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "report.html")
	if err := os.WriteFile(path, []byte(html), 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.open(path)
}

// calm fails the test where the page complained or asked for anything.
func (b *browser) calm() {
	b.t.Helper()
	for _, c := range b.complaints() {
		b.t.Errorf("the page is not quiet: %s", c)
	}
}

func (b *browser) slide(place int) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { const s = document.getElementById('eps'); s.value = %d; s.dispatchEvent(new Event('input', {bubbles: true})); })()`, place), nil)
}

func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	runs := pictured(t)
	html := render(t, runs)
	p := data(t, html)
	t.Run("slider moves every linked part", func(t *testing.T) { b.t = t; testSlider(b, html, p) })
	t.Run("sort and filter", func(t *testing.T) { b.t = t; testTable(b, html, p) })
	t.Run("detail", func(t *testing.T) { b.t = t; testDetail(b, html, runs) })
	t.Run("layout", func(t *testing.T) { b.t = t; testLayout(b, html) })
	t.Run("no script", func(t *testing.T) { b.t = t; testNoScript(b, html, p) })
	t.Run("hostile names", func(t *testing.T) { b.t = t; testHostile(b) })
	t.Run("odd runs", func(t *testing.T) { b.t = t; testOdd(b) })
	b.t = t
}

// testOdd opens what may break a script: no sensitive example, one example,
// runs of other classes.
func testOdd(b *browser) {
	runs := odd(b.t)
	for _, name := range []string{"nothing sensitive", "one example", "other classes", "nine runs"} {
		b.show(render(b.t, runs[name]))
		b.slide(2)
		b.eval("document.querySelector('#rows tr .pic button').click()", nil)
		b.picture(name, false)
		b.calm()
	}
}

func testSlider(b *browser, html string, p payload) {
	b.size(1280, 900, false)
	b.show(html)
	parts := []string{"#lead", "#size", "#epsout", ".card[data-run='1'] [data-f=g]", ".card[data-run='1'] [data-f=gr]", ".card[data-run='0'] [data-f=c]",
		".card[data-run='0'] [data-f=a]", ".card[data-run='0'] .sentence", ".card[data-run='0'] .together", ".mistakes[data-run='1'] .open li", ".mistakes[data-run='0'] td[data-c='6']",
		"#table thead [data-f=e]", "#changes [data-x='2']", ".matrix.robust figcaption span"}
	before := map[string]string{}
	for _, s := range parts {
		before[s] = b.text(s)
	}
	var cursor, moved float64
	const x1 = "+document.querySelector('#curve-rob-cs .cursor').getAttribute('x1')"
	b.eval(x1, &cursor)
	const proved = "[...document.querySelectorAll('#rows .status')].filter(e => e.textContent == 'proved safe').length"
	var safe, safeAfter int
	b.eval("(document.getElementById('f-status').value='sensitive', document.getElementById('filters').dispatchEvent(new Event('input')), "+proved+")", &safe)
	last := len(p.Eps) / 8
	b.slide(last)
	for _, s := range parts {
		if got := b.text(s); got == before[s] {
			b.t.Errorf("the slider did not move %s: %q", s, got)
		}
	}
	if b.eval(x1, &moved); moved >= cursor {
		b.t.Errorf("the cursor of the curves moved from %g to %g", cursor, moved)
	}
	if b.eval(proved, &safeAfter); safeAfter <= safe {
		b.t.Errorf("%d examples of the table are proved safe at %s, %d at %s", safeAfter, p.EpsText[last], safe, p.EpsText[p.Start])
	}
	if got, want := b.text(".card[data-run='1'] [data-f=g]"), p.Runs[1].Frames[last].RobCS.Value; got != want {
		b.t.Errorf("at %s the page says %s, lorica %s", p.EpsText[last], got, want)
	}
	b.eval("document.querySelector('#curve-accuracy svg').scrollIntoView({block:'center'})", nil)
	b.eval(`(() => { const s = document.querySelector('#curve-accuracy svg'), r = s.getBoundingClientRect();
		s.dispatchEvent(new PointerEvent('pointerdown', {clientX: r.left + r.width * 0.99, clientY: r.top + 20, bubbles: true})); })()`, nil)
	if got, want := b.text("#epsout"), p.EpsText[len(p.Eps)-1]; got != want {
		b.t.Errorf("a click at the end of a curve went to %s, not %s", got, want)
	}
	b.calm()
}

// column is what a column of the table shows.
func (b *browser) column(n int) (out []string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("[...document.querySelectorAll('#rows tr')].map(r => r.children[%d].textContent)", n), &out)
	return out
}

func testTable(b *browser, html string, p payload) {
	b.show(html)
	const click = "document.querySelector('#table th[data-k=%s] button').click()"
	for _, c := range []struct {
		key    string
		column int
	}{{"group", 5}, {"std", 6}, {"index", 1}, {"label", 2}} {
		b.eval(fmt.Sprintf(click, c.key), nil)
		up := b.column(c.column)
		b.eval(fmt.Sprintf(click, c.key), nil)
		down := b.column(c.column)
		less := func(x, y string) int {
			if c.key == "label" {
				return compare(x, y)
			}
			return compare(number0(b, x), number0(b, y))
		}
		if !slices.IsSortedFunc(up, less) {
			b.t.Errorf("%s is not sorted: %q", c.key, up)
		}
		slices.Reverse(down)
		if !slices.IsSortedFunc(down, less) {
			b.t.Errorf("%s is not sorted downward: %q", c.key, down)
		}
		if up[0] == down[len(down)-1] {
			b.t.Errorf("%s: both ways begin with %q", c.key, up[0])
		}
	}
	set := func(id, value string) {
		b.eval(fmt.Sprintf("(document.getElementById(%q).value = %q, document.getElementById('filters').dispatchEvent(new Event('input')))", id, value), nil)
	}
	set("f-label", "3")
	for _, s := range b.column(2) {
		if s != "cat" {
			b.t.Errorf("the filter for cats shows a %s", s)
		}
	}
	set("f-status", "proved safe")
	want := 0
	for _, r := range p.Runs[0].Rows {
		if int(r[14].(float64)) > p.Start && r[4].(float64) >= 0 {
			want++
		}
	}
	if got := len(b.column(4)); got != want || want == 0 {
		b.t.Errorf("%d cats are proved safe, the table shows %d", want, got)
	}
	set("f-status", "")
	set("f-label", "")
	set("f-text", "truck")
	if got := len(b.column(2)); got == 0 || got == 50 {
		b.t.Errorf("a search for truck shows %d rows", got)
	}
	set("f-text", "")
	set("f-run", "1")
	if got, want := b.column(1)[0], fmt.Sprint(p.Runs[1].Rows[0][0]); got == want {
		b.t.Logf("rows begin with %s", got)
	}
	b.eval("document.getElementById('next').click()", nil)
	if got := b.text("#page"); got != "page 2 of 3" {
		b.t.Errorf("after a click on next: %s", got)
	}
	b.calm()
}

func compare[T string | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// number0 reads a cell; one without a number sorts first.
func number0(b *browser, s string) float64 {
	if s == "" {
		return -1
	}
	return decimal(b.t, s)
}

func testDetail(b *browser, html string, runs []*Run) {
	b.show(html)
	b.eval("document.querySelector('#rows tr .pic button').click()", nil)
	var open bool
	if b.eval("document.getElementById('detail').open", &open); !open {
		b.t.Fatal("a click on an example opens nothing")
	}
	var drawn int
	b.eval("(async () => { for (let i = 0; i < 200 && document.querySelectorAll('#detail canvas').length < 14; i++) await new Promise(r => setTimeout(r, 20)); return document.querySelectorAll('#detail canvas').length })()", &drawn)
	if drawn != 14 {
		b.t.Errorf("%d pictures in the detail, want the input and six draws for each of two runs", drawn)
	}
	b.picture("detail", false)
	b.eval("document.getElementById('d-close').click()", nil)

	// The page's generator is the sampler's: seed, example and index alike.
	h := runs[0].Header
	want := make([]float32, 3072)
	for _, id := range []struct{ example, index int }{{0, 0}, {7, 3}, {1<<32 - 1, 5}} {
		draw.Noise(want, h.Seed, draw.Estimate, id.example, int64(id.index))
		var got []float64
		b.eval(fmt.Sprintf("Array.from(lorica.noise(3072, [%d, %d], %d, %d))", uint32(h.Seed), h.Seed>>32, id.example, id.index), &got)
		for i := range want {
			if math.Abs(got[i]-float64(want[i])) > 1e-6 {
				b.t.Fatalf("value %d of draw %d of example %d is %g in the page, %g in package draw", i, id.index, id.example, got[i], want[i])
			}
		}
	}
	b.calm()
}

func testLayout(b *browser, html string) {
	for _, d := range []struct {
		name          string
		width, height int
		mobile        bool
	}{{"phone", 390, 844, true}, {"tablet", 820, 1180, true}, {"desktop", 1280, 900, false}, {"wide", 1920, 1080, false}} {
		b.size(d.width, d.height, d.mobile)
		b.show(html)
		var got struct {
			Scroll, Inner int
			Wide          []string
			Cards         int
		}
		b.eval(`(() => { const w = document.documentElement.clientWidth; return {Scroll: document.documentElement.scrollWidth, Inner: w,
			Wide: [...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > w + 1 && !e.closest('.scroll, svg, dialog')).map(e => e.tagName + '.' + e.className),
			Cards: new Set([...document.querySelectorAll('.card')].map(e => e.getBoundingClientRect().left)).size } })()`, &got)
		if got.Scroll > got.Inner || got.Inner != d.width || len(got.Wide) > 0 {
			b.t.Errorf("%s: the page is %d wide on a screen of %d (%d): %q", d.name, got.Scroll, got.Inner, d.width, got.Wide)
		}
		if want := map[bool]int{true: 1, false: 2}[d.width < 600]; got.Cards != want {
			b.t.Errorf("%s: the two runs stand in %d columns, want %d", d.name, got.Cards, want)
		}
		b.picture(d.name, true)
	}
	b.size(1280, 900, false)
	b.eval("document.getElementById('theme').click()", nil)
	var background string
	b.eval("getComputedStyle(document.body).backgroundColor", &background)
	if background != "rgb(15, 19, 24)" {
		b.t.Errorf("in the dark the page is %s", background)
	}
	b.picture("dark", true)

	// On paper: light, without what only a screen can do.
	b.must("Emulation.setEmulatedMedia", map[string]any{"media": "print"}, nil)
	var paper struct {
		Background string
		Controls   int
	}
	b.eval(`({Background: getComputedStyle(document.body).backgroundColor, Controls: [...document.querySelectorAll('main :is(input, select, .pager)')].filter(e => e.checkVisibility()).length})`, &paper)
	if paper.Background != "rgb(255, 255, 255)" || paper.Controls != 0 {
		b.t.Errorf("on paper: %+v", paper)
	}
	b.size(794, 1123, false)
	b.picture("print", true)
	b.must("Emulation.setEmulatedMedia", map[string]any{"media": ""}, nil)
	b.calm()
}

func testNoScript(b *browser, html string, p payload) {
	b.must("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	b.size(1280, 900, false)
	b.show(html)
	b.picture("no-script", true)
	b.must("Emulation.setScriptExecutionDisabled", map[string]any{"value": false}, nil)
	// The script never ran: what is read here is what the file holds.
	for selector, want := range map[string]string{
		"#lead": p.Lead[p.Start], ".card[data-run='1'] [data-f=g]": p.Runs[1].Frames[p.Start].RobCS.Value,
		".mistakes[data-run='0'] .open li": p.Runs[0].Frames[p.Start].Open[0],
	} {
		if got := b.text(selector); got != want {
			b.t.Errorf("without its script the page says %q at %s, want %q", got, selector, want)
		}
	}
	var got struct{ Rows, Plots, Cells, Controls int }
	b.eval(`({Rows: document.querySelectorAll('#rows tr').length, Plots: document.querySelectorAll('.plot svg').length,
		Cells: [...document.querySelectorAll('.matrix.robust td.v')].filter(e => e.textContent).length,
		Controls: [...document.querySelectorAll('input, select, button')].filter(e => e.checkVisibility()).length})`, &got)
	if got.Rows != 50 || got.Plots != 9 || got.Cells != 18 || got.Controls != 0 {
		b.t.Errorf("without its script the page has %+v", got)
	}
}

func testHostile(b *browser) {
	names := slices.Clone(cifar)
	names[3], names[5] = `<script>document.title='pwned'</script>`, `"><img src=x onerror="document.title='pwned'">🐕`
	runs := golden(b.t, Settings{Cost: "3->*", Eps: 0.5, Names: names})
	runs[0].Name = `'"><script>document.title='pwned'</script>&amp;`
	runs[0].Header.Model.Path = `</script><script>document.title='pwned'</script>`
	runs[1].Header.Engine = `</style><b>`
	b.show(render(b.t, runs))
	b.slide(3)
	b.eval("document.querySelector('#rows tr .pic button').click()", nil)
	var title string
	if b.eval("document.title", &title); title == "pwned" {
		b.t.Error("a name was run")
	}
	var labels []string
	b.eval("[...document.querySelectorAll('.matrix.cost tbody th')].slice(0, 10).map(e => e.textContent)", &labels)
	if !slices.Equal(labels, names) {
		b.t.Errorf("the names are shown as %q", labels)
	}
	if got := b.text(".card h2"); got != runs[0].Name {
		b.t.Errorf("the run's name is shown as %q", got)
	}
	b.calm()
}
