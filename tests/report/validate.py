#!/usr/bin/env python3
"""validate.py FOLDER...: Plotly for Python accepts every FOLDER/figures/*.json, and every *.svg is XML without nan or inf."""
import glob
import re
import sys
import xml.dom.minidom

import plotly.io

bad = count = 0
for folder in sys.argv[1:]:
    for path in sorted(glob.glob(folder + '/figures/*')):
        count += 1
        try:
            text = open(path, encoding='utf-8').read()
            if path.endswith('.json'):
                figure = plotly.io.from_json(text)
                assert text.isascii() and '<' not in text, 'not ASCII without <'
                assert len(figure.data) > 0, 'no traces'
                assert all(len(f.traces) == len(f.data) for f in figure.frames), 'a frame with other traces than data'
            else:
                xml.dom.minidom.parseString(text.encode())
                assert not re.search(r'[" ,ML-](nan|inf)', re.sub(r'<(title|desc|text|tspan)\b.*?</\1>', '', text, flags=re.S)), 'a number that is none'
        except Exception as e:
            bad += 1
            print(path + ':', str(e)[:400])
print(f'{count} figures, {bad} bad')
sys.exit(bad > 0 or count == 0)
