package dataset

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"train/dog/a.JPEG", "train/ant/b.jpg", "val/dog/z.jpg", "val/dog/c.jpeg"} {
		writeTo(t, dir, name, jpegBytes(t, testImage(40, 30)))
	}
	writeTo(t, dir, "val/dog/p.PNG", pngBytes(t, testImage(40, 30)))
	writeTo(t, dir, "val/dog/notes.txt", nil)
	writeTo(t, dir, "val/.hidden/x.jpg", nil)
	s, err := Open("folder:"+dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	// "ant" has no validation image, and yet dog must stay class 1.
	if !slices.Equal(s.Classes(), []string{"ant", "dog"}) || s.Split() != "val" || s.Len() != 3 || s.Label(0) != 1 {
		t.Errorf("classes %v, split %q, %d examples", s.Classes(), s.Split(), s.Len())
	}
	if names := []string{s.Name(0), s.Name(1), s.Name(2)}; !slices.Equal(names, []string{"dog/c.jpeg", "dog/p.PNG", "dog/z.jpg"}) {
		t.Errorf("names %v", names)
	}
	if w := strings.Join(s.Warnings(), "\n"); !strings.Contains(w, "class ant has no image") || !strings.Contains(w, "notes.txt") {
		t.Errorf("warnings %q", w)
	}
	if !strings.HasPrefix(s.Identity(), "folder as-is sha256:") {
		t.Errorf("identity %q", s.Identity())
	}
	if c, h, w := s.Shape(); c != 3 || h != 30 || w != 40 {
		t.Errorf("shape %d %d %d", c, h, w)
	}
	if image, err := s.Image(1, nil); err != nil || image[5] != 5./255 {
		t.Errorf("image %v, %v", image[:6], err)
	}

	s, err = Open("folder:"+dir+"?resize=20&crop=16x12", "train")
	if err != nil {
		t.Fatal(err)
	}
	if _, h, w := s.Shape(); h != 12 || w != 16 || !strings.HasPrefix(s.Identity(), "folder resize=20 crop=16x12 sha256:") {
		t.Errorf("%q, %d high, %d wide", s.Identity(), h, w)
	}
	if _, err := s.Image(0, nil); err != nil {
		t.Error(err)
	}
}

// TestFolderDefault: large images are resized and cropped as the paper does.
func TestFolderDefault(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.jpg", "b/2.jpg"} {
		writeTo(t, dir, name, jpegBytes(t, testImage(250, 200)))
	}
	s, err := Open("folder:"+dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, h, w := s.Shape(); h != 160 || w != 160 || s.Split() != "all" || !strings.HasPrefix(s.Identity(), "folder resize=192 crop=160x160 ") {
		t.Errorf("%q, split %q, %d high, %d wide", s.Identity(), s.Split(), h, w)
	}
	if _, err := s.Pixels(1, nil); err != nil {
		t.Error(err)
	}
	wantError(t, `no split "test"`, func() error { _, err := Open("folder:"+dir, "test"); return err })
}

func TestFolderIdentity(t *testing.T) {
	identity := func(files map[string]int) string {
		dir := t.TempDir()
		for name, w := range files {
			writeTo(t, dir, name, pngBytes(t, testImage(w, 8)))
		}
		s, err := Open("folder:"+dir+"?crop=4", "")
		if err != nil {
			t.Fatal(err)
		}
		return s.Identity()
	}
	base := identity(map[string]int{"a/1.png": 8, "b/2.png": 9})
	if again := identity(map[string]int{"b/2.png": 9, "a/1.png": 8}); again != base {
		t.Errorf("the same files are %q and %q", base, again)
	}
	for _, other := range []map[string]int{
		{"a/1.png": 8, "b/3.png": 9},
		{"a/1.png": 8, "b/2.png": 30},
		{"a/1.png": 8, "b/2.png": 9, "b/3.png": 9},
	} {
		if identity(other) == base {
			t.Errorf("%v has the identity of other files", other)
		}
	}
}

func TestBadFolder(t *testing.T) {
	dir := t.TempDir()
	open := func(spec, split string) func() error {
		return func() error { _, err := Open(spec, split); return err }
	}
	wantError(t, dir+"/missing is not a folder", open("folder:"+dir+"/missing", ""))
	wantError(t, "0 class folders", open("folder:"+dir, ""))
	if err := os.MkdirAll(dir+"/train/a", 0o755); err != nil {
		t.Fatal(err)
	}
	writeTo(t, dir, "train/b/corrupt.jpg", []byte("\xff\xd8\xff\xe0 not really"))
	wantError(t, `no split "test"`, open("folder:"+dir, "test"))
	wantError(t, "b/corrupt.jpg", open("folder:"+dir, "train"))
	writeTo(t, dir, "train/a/good.jpg", jpegBytes(t, testImage(8, 8)))
	wantError(t, "option resize", open("folder:"+dir+"?resize=0", "train"))
	wantError(t, "option crop", open("folder:"+dir+"?crop=axb", "train"))
	wantError(t, "option \"crop\" stands 2 times", open("folder:"+dir+"?crop=4&crop=5", "train"))
	wantError(t, "a/good.jpg: the image is 8x8, smaller than the crop", open("folder:"+dir+"?crop=9", "train"))
	s, err := Open("folder:"+dir, "train")
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, "train/b/corrupt.jpg", func() error { _, err := s.Image(1, nil); return err })
	if err := os.Remove(dir + "/train/a/good.jpg"); err != nil {
		t.Fatal(err)
	}
	wantError(t, "train/a/good.jpg", func() error { _, err := s.Image(0, nil); return err })
}

func TestImagenetteNames(t *testing.T) {
	if got := classNames([]string{"n01440764", "n03425413"}); !slices.Equal(got, []string{"tench", "gas-pump"}) {
		t.Errorf("got %v", got)
	}
	if got := classNames([]string{"n01440764", "n00000000"}); got[0] != "n01440764" {
		t.Errorf("a folder that is not Imagenette got names: %v", got)
	}
}
