package dataset

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// splitFolders are the names under which a part of the data may lie.
var splitFolders = map[string][]string{
	"train": {"train"},
	"val":   {"val", "validation"},
	"test":  {"test", "val", "validation"}, // Imagenette and ImageNet publish no other test set
}

// openFolder opens one folder of images a class. Classes are the folders and
// examples their images, both by name; so an example's index is its place in
// the list of all files.
func openFolder(dir, split string, opts *options) (*set, error) {
	pre, given, err := parsePreprocess(opts)
	if err != nil {
		return nil, err
	}
	root, split, siblings, err := findSplit(dir, split)
	if err != nil {
		return nil, err
	}
	classes, err := classFolders(root, siblings)
	if err != nil {
		return nil, err
	}
	f := fileSet{root: root}
	h := sha256.New()
	for label, class := range classes {
		n := len(f.files)
		if err := f.addFolder(class, label); err != nil {
			return nil, err
		}
		if len(f.files) == n {
			f.warnings = append(f.warnings, fmt.Sprintf("class %s has no image in %s", class, root))
		}
	}
	for i, file := range f.files {
		fmt.Fprintf(h, "%s\t%d\n", filepath.ToSlash(file), f.sizes[i])
	}
	if !given {
		if pre, err = f.defaultFor(preprocess{short: 192, cropW: 160, cropH: 160}); err != nil {
			return nil, err
		}
	}
	s, err := f.set(pre)
	if err != nil {
		return nil, err
	}
	s.identity = fmt.Sprintf("folder %s %s", pre, digest(h))
	s.split = split
	s.classes = classNames(classes)
	return s, nil
}

// findSplit finds the folder of a split, and the folders of all splits: a class
// that is missing in one part must not renumber the others.
func findSplit(dir, split string) (root, name string, siblings []string, err error) {
	if !isDir(dir) {
		return "", "", nil, fmt.Errorf("%s is not a folder", dir)
	}
	var have []string
	for _, sub := range []string{"train", "val", "validation", "test"} {
		if isDir(filepath.Join(dir, sub)) {
			have = append(have, sub)
			siblings = append(siblings, filepath.Join(dir, sub))
		}
	}
	if have == nil {
		if split != "" && split != "all" {
			return "", "", nil, fmt.Errorf("%s is not divided (no folder train, val or test in it), so there is no split %q", dir, split)
		}
		return dir, "all", []string{dir}, nil
	}
	if split == "" {
		split = "test"
	}
	for _, sub := range splitFolders[split] {
		if slices.Contains(have, sub) {
			if sub == "validation" {
				return filepath.Join(dir, sub), "val", siblings, nil
			}
			return filepath.Join(dir, sub), sub, siblings, nil // what it is, not what it stood in for
		}
	}
	return "", "", nil, fmt.Errorf("no split %q in %s; it has %s", split, dir, strings.Join(have, ", "))
}

// classFolders are the names of the class folders of all parts.
func classFolders(root string, siblings []string) ([]string, error) {
	var classes []string
	for _, dir := range siblings {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") && isDir(filepath.Join(dir, e.Name())) {
				classes = append(classes, e.Name())
			}
		}
	}
	slices.Sort(classes)
	classes = slices.Compact(classes)
	if len(classes) < 2 {
		return nil, fmt.Errorf("%s has %d class folders; a classifier needs two", root, len(classes))
	}
	return classes, nil
}

// fileSet is a set of image files that are decoded when they are asked for.
type fileSet struct {
	root     string
	files    []string // below root
	sizes    []int64
	labels   []int
	warnings []string
}

// addFolder adds the images of one class folder, by name.
func (f *fileSet) addFolder(class string, label int) error {
	dir := filepath.Join(f.root, class)
	if !isDir(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var others []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		if !isImage(e.Name()) || !info.Mode().IsRegular() {
			others = append(others, e.Name())
			continue
		}
		f.files = append(f.files, filepath.Join(class, e.Name()))
		f.sizes = append(f.sizes, info.Size())
		f.labels = append(f.labels, label)
	}
	if others != nil {
		f.warnings = append(f.warnings, fmt.Sprintf("%s: %d entries are no JPEG or PNG files and are left out, such as %s", dir, len(others), others[0]))
	}
	return nil
}

func isImage(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".jpg", ".jpeg", ".png":
		return true
	}
	return false
}

// first gives the size of the first image, which decides for all.
func (f *fileSet) first() (w, h int, err error) {
	if len(f.files) == 0 {
		return 0, 0, fmt.Errorf("no JPEG or PNG image in %s", f.root)
	}
	path := filepath.Join(f.root, f.files[0])
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	cfg, err := decodeConfig(data)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", path, err)
	}
	return cfg.Width, cfg.Height, nil
}

// defaultFor is the preprocessing where none was asked for: images that are
// already as small as the crop stay as they are.
func (f *fileSet) defaultFor(large preprocess) (preprocess, error) {
	w, h, err := f.first()
	if err != nil {
		return preprocess{}, err
	}
	if w <= large.cropW && h <= large.cropH {
		return preprocess{}, nil
	}
	return large, nil
}

func (f *fileSet) set(pre preprocess) (*set, error) {
	w, h, err := f.first()
	if err != nil {
		return nil, err
	}
	if w, h, err = pre.outSize(w, h); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(f.root, f.files[0]), err)
	}
	if pre.short > 0 && pre.cropW == 0 {
		f.warnings = append(f.warnings, "resize=N without crop: images that are not square like the first will not fit")
	}
	return &set{
		c: 3, h: h, w: w, labels: f.labels, warnings: f.warnings,
		name:   func(i int) string { return filepath.ToSlash(f.files[i]) },
		pixels: func(i int, dst []byte) error { return pre.readImage(filepath.Join(f.root, f.files[i]), w, h, dst) },
	}, nil
}

// imagenette names the folders of Imagenette (WordNet identifiers).
var imagenette = map[string]string{
	"n01440764": "tench", "n02102040": "english-springer", "n02979186": "cassette-player",
	"n03000684": "chain-saw", "n03028079": "church", "n03394916": "french-horn",
	"n03417042": "garbage-truck", "n03425413": "gas-pump", "n03445777": "golf-ball", "n03888257": "parachute",
}

// classNames are the folders' names, or words where these are Imagenette's.
func classNames(folders []string) []string {
	names := make([]string, len(folders))
	for i, folder := range folders {
		word, ok := imagenette[folder]
		if !ok {
			return folders
		}
		names[i] = word
	}
	return names
}
