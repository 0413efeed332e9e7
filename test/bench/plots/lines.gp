# lines.gp: a panel for each shape, a line for each engine; test/bench/plots/plot sets the variables.
#
#   data      folder with a file SHAPE@ENGINE of x and value for each line
#   shapes    names; engines_1 .. are the engines of each
#   out, heading, xname, yname, xscale ('log' or 'linear')

n = words(shapes)
columns = n < 3 ? n : n < 5 ? 2 : 3
rows = (n + columns - 1) / columns
set terminal svg size 460 * columns, 340 * rows + 40 background rgb 'white' font 'sans,11'
set output out
set multiplot layout rows, columns title heading
set logscale y
set format y '%g'
if (xscale eq 'log') {
	set logscale x 2
	set format x '%g'
} else {
	set format x '%.1s%c'
}
set grid
set key outside below maxrows 3
set xlabel xname
set ylabel yname
do for [i = 1:n] {
	shape = word(shapes, i)
	engines = value(sprintf('engines_%d', i))
	set title shape
	plot for [engine in engines] data . '/' . shape . '@' . engine using 1:2 with linespoints title engine
}
unset multiplot
